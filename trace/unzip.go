package trace

import (
	"compress/flate"
	"compress/gzip"
	"errors"
	"io"
)

// unzip returns a reader of what was compressed with gzip. Errors about the header, too, come from
// the reader.
func unzip(r io.Reader) io.Reader {
	unzipped, err := gzip.NewReader(r)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return failing{err}
	}
	return unzipped
}

// failing is a reader of which only an error is known.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// isDamage reports whether err says that compressed data are not what was written.
func isDamage(err error) bool {
	var corrupt flate.CorruptInputError
	return errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) || errors.As(err, &corrupt)
}
