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
	heisenSysSetpgid     = 109
	heisenSysClone       = 56
	heisenSysRecvmsg     = 47
	heisenSysDup3        = 292
	heisenSysOpenat      = 257
	heisenSysWrite       = 1
	heisenSysIoctl       = 16
	heisenSysMunmap      = 11

	// heisenModeAt is the offset of a file's mode in struct stat.
	heisenModeAt = 24
)

// heisenLooking are system calls that only look at something: read, close, stat, fstat, lstat, lseek, pread64, access,
// getpid, uname, fcntl, getcwd, readlink, gettimeofday, getrlimit, getrusage, sysinfo, getuid, getgid, geteuid, getegid, getppid,
// getpgrp, getgroups, statfs, fstatfs, gettid, sched_getaffinity, getdents64, clock_gettime, newfstatat, readlinkat, faccessat, prlimit64,
// getrandom, statx, faccessat2.
var heisenLooking = [...]uintptr{0, 3, 4, 5, 6, 8, 17, 21, 39, 63, 72, 79, 89, 96, 97, 98, 99, 102, 104, 107, 108, 110, 111, 115, 137, 138,
	186, 204, 217, 228, 262, 267, 269, 302, 318, 332, 439}
