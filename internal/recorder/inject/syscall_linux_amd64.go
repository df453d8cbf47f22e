//go:build heisen_inject

package runtime

const (
	heisenSysGetpid     = 39
	heisenSysSocket     = 41
	heisenSysConnect    = 42
	heisenSysSendto     = 44
	heisenSysFcntl      = 72
	heisenSysFstat      = 5
	heisenSysGetppid    = 110
	heisenSysUnshare    = 272
	heisenSysCloseRange = 436
	heisenSysPrlimit    = 302
)
