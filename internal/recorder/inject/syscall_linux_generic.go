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
	heisenSysSetpgid     = 154
	heisenSysClone       = 220
	heisenSysRecvmsg     = 212
	heisenSysDup3        = 24
	heisenSysOpenat      = 56
	heisenSysWrite       = 64
	heisenSysIoctl       = 29

	// heisenModeAt is the offset of a file's mode in struct stat.
	heisenModeAt = 16
)

// heisenLooking are system calls that only look at something: getcwd, fcntl, statfs, fstatfs, faccessat, close, getdents64, lseek, read, pread64,
// readlinkat, fstatat, fstat, clock_gettime, sched_getaffinity, getgroups, uname, getrlimit, getrusage, gettimeofday, getpid, getppid,
// getuid, geteuid, getgid, getegid, gettid, sysinfo, prlimit64, getrandom, statx, faccessat2.
var heisenLooking = [...]uintptr{17, 25, 43, 44, 48, 57, 61, 62, 63, 67, 78, 79, 80, 113, 123, 158, 160, 163, 165, 169, 172, 173, 174, 175, 176,
	177, 178, 179, 261, 278, 291, 439}
