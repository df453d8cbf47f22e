//go:build heisen_inject

package runtime

// What the recorder needs of the operating system, and what package runtime does not have. There are two
// implementations: os_linux.go, and os_portable.go for all other systems, which uses only what the runtime
// itself does on every one of its ports. A program for Linux has the portable one if heisen builds it with
// HEISEN_PORTABLE=1 in its environment, which tests do. The connection to the analyzer stands in connection_linux.go,
// connection_portable.go for all other systems that are like Unix, and connection_windows.go. With connection_none.go
// there is none.
//
// Memory. All of it is zero when it is handed out, and belongs to no heap. These functions take no locks and do
// not allocate; those that hand out memory may be called while the heap grows, with its lock.
//
//	heisenLazy                    whether memory that is never touched costs nothing, however much it is
//	heisenMap(n)                  n bytes, nil if there are not so many
//	heisenAddresses(n)            n addresses without memory, 0 if there are not so many or heisenLazy is true
//	heisenMapFixed(at, n)         maps n bytes there, where nothing else is, and reports whether it could
//	heisenUnmap(p, n)             gives back what one call of heisenMap has returned
//	heisenUnmapFixed(at, n)       gives back what heisenMapFixed has mapped, by one call or several
//	heisenZero(p, n)              makes n bytes zero, which heisenMap has returned; if possible, they are not backed by memory afterwards
//	heisenMakeHuge(p, n)          backs n bytes, aligned to huge pages, by such; it may do nothing
//	heisenSpaceIsLimited()        whether this process has few addresses
//	heisenLimitedSpace()          about how many are left then; to find out, it may take them all for a moment, so it is for
//	                              initialization
//	heisenHasSpace(n)             whether n addresses are left, true if they are not limited
//	heisenAddressSpace()          about how many bytes of tables there may be where memory is scarce
//
// Waiting. A thread sleeps while a word has a value. These functions are called in hooks, on the goroutine's
// stack, in signal handlers and in threads without a P. They are nosplit.
//
//	heisenSleepOn(word, value, ns)  sleeps if the word has the value, until it is woken, for at most ns
//	                                nanoseconds unless that is negative; it may return early
//	heisenWakeUp(word, n)           wakes up to n threads that sleep on the word, which has another value now
//
// Signals (signals_unix.go, signals_none.go).
//
//	heisenBlockSignals()          keeps signals that any thread may handle from the calling thread
//	heisenInterrupted, heisenBusy the errors of reads and writes that are tried again
//	heisenCrashing()              whether threads dump their stacks one after the other (GOTRACEBACK=crash)
//	heisenQuit                    the signal that makes the program look for leaks
//	heisenNumSignals              how many signals there are, 0 if none ends a program
//	heisenRaise(s)                sends the process a signal
//	heisenDie(s)                  ends the program as a signal does; it does not return
//	heisenKillsUnhandled(s)       whether a signal ends this program, which neither handles nor ignores it
//
// Files, processes and threads. The first five are in files_*.go, for each system. All answers may be out of date.
// Only deterministic runs ask about processes and descriptors, in the scheduler, on the system stack.
//
//	heisenOpenToAppend(path, empty)  opens or creates a file to append to, which may be emptied; negative if that is not
//	                                 possible
//	heisenCloseFile(fd)              closes a file or an end of the connection
//	heisenReadFile(fd, p, n)         waits for up to n bytes of the connection; the number read, 0 at the end, or a negated error
//	heisenIdentityOf(fd)             what identifies the open file, zero if nothing is open
//	heisenGetpid                     the number of this process
//	heisenCallsSystem(c)             whether cgocall of that is a system call, not one of C code
//	heisenFromOutside(fd)            whether something outside of the process can make a descriptor ready;
//	                                 true if that is not known
//	heisenChildRuns(pid)             whether a child process has not ended; false if that is not known
//	heisenGroupRuns()                the same of the others in the process group that this process leads
//	heisenThreadSleeps(id)           whether a thread sleeps in a system call; true if that is not known
//
// The connection. It is used during initialization, and where messages are sent: on the system stack, with
// heisen.sendLock held.
//
//	heisenPrintNoConnection(why)  print why heisenConnect has failed
//	heisenConnect(path)           descriptors connected to the analyzer there, to write to and to read from, which may be
//	                              one; the first is negative if that is not possible: a negated error
//	heisenSendto(fd, p, n)        sends up to n bytes without a signal; the number sent, or a negated error
//	heisenTakeDescriptors(fd)     leaves the calling thread with this descriptor alone, in a table of its own,
//	                              and reports whether that is possible; only where the connection has one descriptor
//	heisenGetppid                 the number of the parent of this process, 0 if it is not known
