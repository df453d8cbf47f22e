//go:build heisen_inject

package runtime

const (
	heisenSysGetpid  = 39
	heisenSysSocket  = 41
	heisenSysConnect = 42
	heisenSysSendto  = 44
	heisenSysFcntl   = 72
)
