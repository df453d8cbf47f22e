//go:build heisen_inject

package runtime

const (
	heisenToEnd       = 0x400
	heisenCloseOnExec = _O_CLOEXEC
)

//go:nosplit
func heisenGetpid() uintptr { return uintptr(getpid()) }
