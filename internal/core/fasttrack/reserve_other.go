//go:build !linux || !(amd64 || arm64 || loong64 || mips64 || mips64le || ppc64 || ppc64le || riscv64 || s390x)

package fasttrack

import "errors"

// reserve returns an error: elsewhere memory counts before it is touched, or there are not enough addresses.
func reserve(uint64) ([]byte, error) { return nil, errors.ErrUnsupported }

func release([]byte) {}

func zero(m []byte) { clear(m) }
