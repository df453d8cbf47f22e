//go:build amd64 || arm64 || loong64 || mips64 || mips64le || ppc64 || ppc64le || riscv64 || s390x

package fasttrack

import "syscall"

// reserve returns n bytes that are zero and allocated when they are touched.
func reserve(n uint64) ([]byte, error) {
	return syscall.Mmap(-1, 0, int(n), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE|syscall.MAP_NORESERVE)
}

// release releases what reserve has returned.
func release(m []byte) {
	if err := syscall.Munmap(m); err != nil {
		panic(err)
	}
}

// zero makes full pages of it zero, and gives them back.
func zero(m []byte) {
	if err := syscall.Madvise(m, syscall.MADV_DONTNEED); err != nil {
		panic(err)
	}
}
