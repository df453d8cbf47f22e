//go:build heisen_inject && linux && (arm64 || loong64 || riscv64)

package runtime

// The numbers of system calls that newer architectures have in common.
const (
	heisenSysFcntl       = 25
	heisenSysSocket      = 198
	heisenSysConnect     = 203
	heisenSysSendto      = 206
	heisenSysFstat       = 80
	heisenSysGetppid     = 173
	heisenSysUnshare     = 97
	heisenSysCloseRange  = 436
	heisenSysPrlimit     = 261
	heisenSysGetsockname = 204
	heisenSysGetpeername = 205
	heisenSysGetsockopt  = 209
	heisenSysWaitid      = 95
	heisenSysReadlinkat  = 78
	heisenSysGetdents    = 61
	heisenSysGetpgid     = 155

	// heisenModeAt is the offset of a file's mode in struct stat.
	heisenModeAt = 16
)
