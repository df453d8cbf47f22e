package accesstable

import (
	"debug/elf"
	"debug/gosym"
	"encoding/binary"
	"errors"
	"fmt"
)

// image is a linked Go program.
type image struct {
	path      string
	file      *elf.File
	code      []byte // the section .text
	codeAt    uint64 // its address
	text      uint64 // moduledata.text, where Go's code begins
	table     *gosym.Table
	constants []span // addresses of what is never written
}

// span is the addresses [from, to).
type span struct{ from, to uint64 }

// open reads an executable. The caller must close the image's file.
func open(path string) (im *image, err error) {
	f, err := elf.Open(path)
	if err != nil {
		return nil, err
	}
	im = &image{path: path, file: f}
	if err := im.load(); err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return im, nil
}

func (im *image) load() error {
	f := im.file
	if f.Machine != elf.EM_X86_64 {
		return fmt.Errorf("a program for %v, not for amd64", f.Machine)
	}
	code, lines := f.Section(".text"), im.lineSection()
	if code == nil || lines == nil {
		return errors.New("not a Go program")
	}
	var err error
	if im.code, err = code.Data(); err != nil {
		return err
	}
	im.codeAt = code.Addr
	if im.text, err = im.findText(code, lines); err != nil {
		return err
	}
	data, err := lines.Data()
	if err != nil {
		return err
	}
	if im.table, err = gosym.NewTable(nil, gosym.NewLineTable(data, im.text)); err != nil {
		return err
	}
	for _, s := range f.Sections {
		if s.Addr != 0 && (s.Flags&elf.SHF_WRITE == 0 || isConstant(s.Name)) {
			im.constants = append(im.constants, span{s.Addr, s.Addr + s.Size})
		}
	}
	return nil
}

// lineSection returns the section with the line table. In position-independent programs it has a longer name.
func (im *image) lineSection() *elf.Section {
	if s := im.file.Section(".gopclntab"); s != nil {
		return s
	}
	return im.file.Section(".data.rel.ro.gopclntab")
}

// isConstant reports whether a section is only written before the program starts.
func isConstant(name string) bool {
	const relocated = ".data.rel.ro"
	return len(name) >= len(relocated) && name[:len(relocated)] == relocated || name == ".typelink" || name == ".itablink" || name == ".go.module"
}

// findText returns where Go's code begins. Only an external linker puts other code in front of it.
func (im *image) findText(code, lines *elf.Section) (uint64, error) {
	if symbols, err := im.file.Symbols(); err == nil {
		for _, s := range symbols {
			if s.Name == "runtime.text" {
				return s.Value, nil
			}
		}
	}
	if im.file.Section(".interp") == nil && im.file.Section(".init") == nil {
		return code.Addr, nil
	}
	// The symbols were removed. The runtime's description of the program begins with the address of the line table, and has
	// that of the text further on.
	const textOffset = 176
	at := func(find func(s *elf.Section) (uint64, bool)) (uint64, bool) {
		for _, s := range im.file.Sections {
			if s.Flags&elf.SHF_ALLOC != 0 && s.Type == elf.SHT_PROGBITS {
				if text, ok := find(s); ok && code.Addr <= text && text < code.Addr+code.Size {
					return text, true
				}
			}
		}
		return 0, false
	}
	if text, ok := at(func(s *elf.Section) (uint64, bool) {
		data, err := s.Data()
		for i := 0; err == nil && i+textOffset+8 <= len(data); i += 8 {
			if binary.LittleEndian.Uint64(data[i:]) == lines.Addr {
				return binary.LittleEndian.Uint64(data[i+textOffset:]), true
			}
		}
		return 0, false
	}); ok {
		return text, nil
	}
	if text, ok := im.relocatedText(lines.Addr, textOffset); ok && code.Addr <= text && text < code.Addr+code.Size {
		return text, nil
	}
	return 0, errors.New("the start of its code is not known")
}

// relocatedText is for position-independent programs, in which addresses are in the relocations.
func (im *image) relocatedText(lines, offset uint64) (uint64, bool) {
	section := im.file.Section(".rela.dyn")
	if section == nil {
		return 0, false
	}
	data, err := section.Data()
	if err != nil {
		return 0, false
	}
	const size = 24
	addends, place := map[uint64]uint64{}, uint64(0)
	for ; len(data) >= size; data = data[size:] {
		at, addend := binary.LittleEndian.Uint64(data), binary.LittleEndian.Uint64(data[16:])
		addends[at] = addend
		if addend == lines {
			place = at
		}
	}
	text, ok := addends[place+offset]
	return text, ok && place != 0
}

// function returns the code of a function, or nil.
func (im *image) function(f *gosym.Func) []byte {
	if f.Entry < im.codeAt || f.End > im.codeAt+uint64(len(im.code)) || f.Entry >= f.End {
		return nil
	}
	return im.code[f.Entry-im.codeAt : f.End-im.codeAt]
}

// isWritten reports whether an address may be that of a variable.
func (im *image) isWritten(addr uint64) bool {
	for _, c := range im.constants {
		if c.from <= addr && addr < c.to {
			return false
		}
	}
	return true
}
