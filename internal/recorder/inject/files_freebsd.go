//go:build heisen_inject

package runtime

const (
	heisenToEnd       = 0x8
	heisenCloseOnExec = _O_CLOEXEC
)

func heisenGetpid() uintptr // in files_freebsd_amd64.s
