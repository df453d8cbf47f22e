//go:build heisen_inject

package runtime

const (
	heisenSysSocket      = 41
	heisenSysConnect     = 42
	heisenSysSendto      = 44
	heisenSysFcntl       = 72
	heisenSysFstat       = 5
	heisenSysGetppid     = 110
	heisenSysUnshare     = 272
	heisenSysCloseRange  = 436
	heisenSysPrlimit     = 302
	heisenSysGetsockname = 51
	heisenSysGetpeername = 52
	heisenSysGetsockopt  = 55
	heisenSysWaitid      = 247
	heisenSysReadlinkat  = 267
	heisenSysGetdents    = 217
	heisenSysGetpgid     = 121

	// heisenModeAt is the offset of a file's mode in struct stat.
	heisenModeAt = 24
)
