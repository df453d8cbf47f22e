package trace

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/zstd"
)

// The frame of the binary format: a file header, then blocks; see format.md.
const (
	// magic is the start of a binary trace. No text starts with its first byte, and a transfer that
	// rewrites line ends changes its last one.
	magic   = "\x89heisen\n"
	version = 3

	// gaplessVersion is the version of a trace without gaps, which older readers take too.
	gaplessVersion = 2

	// firstVersion is the oldest version that is read. It has no sets of objects.
	firstVersion = 1

	fileHeader  = len(magic) + 4
	blockHeader = 16

	// maxPayload bounds the payload of a block, both compressed and decompressed.
	maxPayload = 4 << 20

	// maxSymbolsRatio bounds the compression ratio of a symbols block. A reader keeps the contents,
	// so that its memory would otherwise not be in proportion to the file.
	maxSymbolsRatio = 64
)

// Kinds of blocks.
const (
	symbolsBlock = 1
	recordsBlock = 2
	endBlock     = 3
)

// Codings of a payload.
const (
	stored = 0
	zipped = 1 // zstd
)

var crcTable = crc32.MakeTable(crc32.Castagnoli)

// blockWriter writes a trace's blocks.
type blockWriter struct {
	w       io.Writer
	encoder *zstd.Encoder // nil to store
	sum     uint32        // checksum of the block before
	buf     []byte
}

// start writes the file header.
func (w *blockWriter) start(version uint32) error {
	header := binary.LittleEndian.AppendUint32([]byte(magic), version)
	w.sum = crc32.Checksum(header, crcTable)
	return write(w.w, header)
}

// write writes a block, in one call of the underlying Write.
func (w *blockWriter) write(kind byte, payload []byte) error {
	if len(payload) > maxPayload {
		return fmt.Errorf("block of %d bytes is over the limit of %d", len(payload), maxPayload)
	}
	b := append(w.buf[:0], make([]byte, blockHeader)...)
	coding := byte(stored)
	if w.encoder != nil {
		b = w.encoder.EncodeAll(payload, b)
		if n := len(b) - blockHeader; n < len(payload) && (kind != symbolsBlock || len(payload) <= maxSymbolsRatio*n) {
			coding = zipped
		}
	}
	if coding == stored {
		b = append(b[:blockHeader], payload...)
	}
	b[0], b[1] = kind, coding
	binary.LittleEndian.PutUint32(b[4:], uint32(len(b)-blockHeader))
	binary.LittleEndian.PutUint32(b[8:], uint32(len(payload)))
	w.sum = blockSum(w.sum, b)
	binary.LittleEndian.PutUint32(b[12:], w.sum)
	w.buf = b
	return write(w.w, b)
}

// blockSum returns the checksum of a block that follows one with the checksum before. A lost,
// repeated or exchanged block breaks the chain.
func blockSum(before uint32, block []byte) uint32 {
	sum := crc32.Update(before, crcTable, block[:12])
	return crc32.Update(sum, crcTable, block[blockHeader:])
}

// blockReader reads the blocks of a trace. It reads no byte behind the block that it returns.
type blockReader struct {
	version uint32 // of the file, once its header is read
	r       io.Reader
	file    string
	decoder *zstd.Decoder
	sum     uint32 // checksum of the block before
	block   int    // number of the block being read; 0 is the file header
	offset  int64  // where that block starts
	in      []byte // what has been read of it
}

// frame is a block as it is in the file.
type frame struct {
	kind     byte
	unpacked int    // length of the payload
	in       []byte // the whole block
	file     string
	block    int   // its number
	offset   int64 // where it starts
}

func newBlockReader(r io.Reader, processors int) (blockReader, error) {
	decoder, err := zstd.NewReader(nil,
		zstd.WithDecoderConcurrency(processors),
		zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxMemory(maxPayload),
		zstd.WithDecodeAllCapLimit(true))
	return blockReader{r: r, decoder: decoder}, err
}

// fill reads until there are n bytes of the block. After the end of the input it can be called
// again.
func (r *blockReader) fill(n int) error {
	for len(r.in) < n {
		if cap(r.in) < n {
			r.in = append(make([]byte, 0, n), r.in...)
		}
		got, err := readSome(r.r, r.in[len(r.in):n])
		r.in = r.in[:len(r.in)+got]
		switch {
		case err == io.EOF || err == io.ErrUnexpectedEOF:
			return &TruncatedError{File: r.file, Block: r.block, Offset: r.offset}
		case err == nil:
		case isDamage(err):
			return r.corrupt(unpacking, err)
		default:
			return fmt.Errorf("%sreading trace: %w", blockPosition(r.file, r.block, r.offset), err)
		}
	}
	return nil
}

// done moves on to the next block.
func (r *blockReader) done() {
	r.block++
	r.offset += int64(len(r.in))
	r.in = r.in[:0]
}

func (r *blockReader) corrupt(reason string, cause error) error {
	return &CorruptError{File: r.file, Block: r.block, Offset: r.offset, Reason: reason, Err: cause}
}

func (f *frame) corrupt(reason string, cause error) error {
	return &CorruptError{File: f.file, Block: f.block, Offset: f.offset, Reason: reason, Err: cause}
}

// start reads the file header.
func (r *blockReader) start() error {
	if err := r.fill(fileHeader); err != nil {
		return err
	}
	if string(r.in[:len(magic)]) != magic {
		return r.corrupt("not a binary trace", nil)
	}
	if v := binary.LittleEndian.Uint32(r.in[len(magic):]); v < firstVersion || v > version {
		return r.corrupt(fmt.Sprintf("version %d", v), ErrVersion)
	}
	r.version = binary.LittleEndian.Uint32(r.in[len(magic):])
	r.sum = crc32.Checksum(r.in, crcTable)
	r.done()
	return nil
}

// next reads a block into f, whose memory it takes for the block after it.
func (r *blockReader) next(f *frame) error {
	if err := r.fill(blockHeader); err != nil {
		return err
	}
	kind, coding := r.in[0], r.in[1]
	size := binary.LittleEndian.Uint32(r.in[4:])
	unpacked := binary.LittleEndian.Uint32(r.in[8:])
	switch {
	case kind < symbolsBlock || kind > endBlock:
		return r.corrupt(fmt.Sprintf("unknown kind %d", kind), nil)
	case coding > zipped || r.in[2] != 0 || r.in[3] != 0:
		return r.corrupt("unknown coding", nil)
	case size > maxPayload || unpacked > maxPayload:
		return r.corrupt(fmt.Sprintf("payload of %d bytes", max(size, unpacked)), nil)
	case coding == stored && size != unpacked,
		kind == symbolsBlock && uint64(unpacked) > maxSymbolsRatio*uint64(size):
		return r.corrupt(fmt.Sprintf("%d bytes unpack to %d", size, unpacked), nil)
	}
	if err := r.fill(blockHeader + int(size)); err != nil {
		return err
	}
	sum := blockSum(r.sum, r.in)
	if sum != binary.LittleEndian.Uint32(r.in[12:]) {
		return r.corrupt("wrong checksum", nil)
	}
	r.sum = sum
	in, offset, block := r.in, r.offset, r.block
	r.done()
	r.in = f.in[:0]
	*f = frame{kind: kind, unpacked: int(unpacked), in: in, file: r.file, block: block, offset: offset}
	return nil
}

// unpack returns the payload of a block, in the memory of buf if it has to be unpacked and fits. Several goroutines may call it.
func (r *blockReader) unpack(f *frame, buf []byte) (payload []byte, err error) {
	payload = f.in[blockHeader:]
	if f.in[1] != zipped {
		return payload, nil
	}
	if cap(buf) < f.unpacked {
		buf = make([]byte, 0, f.unpacked)
	}
	payload, err = r.decoder.DecodeAll(payload, buf[:0:f.unpacked])
	if err == nil && len(payload) != f.unpacked {
		err = errors.New("wrong size")
	}
	return payload, err
}
