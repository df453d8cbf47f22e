package accesstable

import (
	"debug/elf"
	"encoding/binary"
	"errors"
)

// Offsets in the runtime's description of a program, moduledata. It begins with the address of the line table.
const (
	moduleMinPC    = 160
	moduleText     = 176
	moduleEnd      = 184 // of the text
	moduleCounters = 256
	moduleSize     = 272
)

// loadModule reads the runtime's description of the program. Its address is not known if the symbols were
// removed, so it is looked for.
func (im *image) loadModule(code, lines *elf.Section) error {
	relocated, err := im.relocations()
	if err != nil {
		return err
	}
	for _, s := range im.file.Sections {
		if s.Flags&elf.SHF_WRITE == 0 || s.Type != elf.SHT_PROGBITS {
			continue
		}
		data, err := s.Data()
		if err != nil {
			return err
		}
		word := func(at int) uint64 {
			if value, ok := relocated[s.Addr+uint64(at)]; ok {
				return value
			}
			return binary.LittleEndian.Uint64(data[at:])
		}
		for at := 0; at+moduleSize <= len(data); at += 8 {
			text, end := word(at+moduleText), word(at+moduleEnd)
			if word(at) == lines.Addr && text == word(at+moduleMinPC) && code.Addr <= text && text < end && end <= code.Addr+code.Size {
				im.text = text
				im.counters = span{word(at + moduleCounters), word(at + moduleCounters + 8)}
				return nil
			}
		}
	}
	return errors.New("the start of its code is not known")
}

// relocations returns the words that the dynamic linker writes into a position-independent program that lies where it was
// linked.
func (im *image) relocations() (map[uint64]uint64, error) {
	words := map[uint64]uint64{}
	for _, s := range im.file.Sections {
		if s.Type != elf.SHT_RELA || s.Flags&elf.SHF_ALLOC == 0 {
			continue
		}
		data, err := s.Data()
		if err != nil {
			return nil, err
		}
		const size, relative = 24, uint32(elf.R_X86_64_RELATIVE)
		for ; len(data) >= size; data = data[size:] {
			if binary.LittleEndian.Uint32(data[8:]) == relative {
				words[binary.LittleEndian.Uint64(data)] = binary.LittleEndian.Uint64(data[16:])
			}
		}
	}
	return words, nil
}
