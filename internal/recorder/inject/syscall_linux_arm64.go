//go:build heisen_inject

package runtime

const (
	heisenSysFcntl      = 25
	heisenSysGetpid     = 172
	heisenSysSocket     = 198
	heisenSysConnect    = 203
	heisenSysSendto     = 206
	heisenSysFstat      = 80
	heisenSysGetppid    = 173
	heisenSysUnshare    = 97
	heisenSysCloseRange = 436
	heisenSysPrlimit    = 261
)
