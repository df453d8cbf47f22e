package accesstable

import (
	"debug/elf"
	"debug/gosym"
	"errors"
	"fmt"
	"strings"
)

// image is a linked Go program.
type image struct {
	path      string
	file      *elf.File
	bytes     []byte // the section .text
	codeAt    uint64 // its address
	text      uint64 // moduledata.text, where Go's code begins
	counters  span   // of package coverage
	table     *gosym.Table
	std       string // folder of the standard library, with a slash; empty with -trimpath
	constants []span // addresses of what is never written
}

// span is the addresses [from, to).
type span struct{ from, to uint64 }

// open reads an executable. The caller must close the image's file.
func open(path string) (im *image, err error) {
	f, err := elf.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
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
	if im.bytes, err = code.Data(); err != nil {
		return err
	}
	im.codeAt = code.Addr
	if err := im.loadModule(code, lines); err != nil {
		return err
	}
	data, err := lines.Data()
	if err != nil {
		return err
	}
	if im.table, err = gosym.NewTable(nil, gosym.NewLineTable(data, im.text)); err != nil {
		return err
	}
	main := im.table.LookupFunc("runtime.main")
	if main == nil {
		return errors.New("not a Go program")
	}
	file, _, _ := im.table.PCToLine(main.Entry)
	im.std = strings.TrimSuffix(file, "runtime/proc.go")
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
	return strings.HasPrefix(name, relocated) || strings.HasPrefix(name, ".got") || name == ".go.module"
}

// code returns the code of a function, or nil.
func (im *image) code(f *gosym.Func) []byte {
	if f.Entry < im.codeAt || f.End > im.codeAt+uint64(len(im.bytes)) || f.Entry >= f.End {
		return nil
	}
	return im.bytes[f.Entry-im.codeAt : f.End-im.codeAt]
}

// isAssembly reports whether a function is written in assembly.
func (im *image) isAssembly(f *gosym.Func) bool {
	file, _, _ := im.table.PCToLine(f.Entry)
	return strings.HasSuffix(file, ".s")
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

// isCounter reports whether an address is that of a counter of package coverage.
func (im *image) isCounter(addr uint64) bool {
	return im.counters.from <= addr && addr < im.counters.to
}
