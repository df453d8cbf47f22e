package wire

// The environment variables that a program reads.
const (
	SocketEnv    = "HEISEN_SOCKET"       // names the analyzer's socket, and is set by the analyzer
	ChildEnv     = "HEISEN_CHILD_SOCKET" // the same in a program that a recorded program has started
	PassesEnv    = "HEISEN_PASSES"       // is looked at by tests, so that it decides whether the go command reuses a result
	SymbolizeEnv = "HEISEN_SYMBOLIZE"    // makes the program name places instead of running, see symbolize.go of the recorder
)

// What the analyzer wants.
const (
	HealPlaces   = 1 // goroutines are kept apart at the places with LocationHeal
	HealFindings = 2 // and at what findings name, from then on

	HiddenShow = 1 // what hidden packages do is recorded, marked

	WantFilter   = 1    // leave out redundant accesses
	WantMarks    = 2    // with one of the others: rather mark them
	WantRaces    = 4    // races, found by the program itself
	WantOverlaps = 8    // overlaps; the answer is followed by the number of bytes that say what to look for, and these
	WantNothing  = 16   // nothing else
	WantSched    = 32   // a deterministic run; followed by how, in the same way, after hidden packages
	WantHidden   = 64   // hidden packages; followed by which, in the same way, after overlaps
	WantLeaks    = 128  // goroutines that wait for ever
	WantCalls    = 256  // which calls are new
	WantNames    = 512  // the functions at all text offsets that are sent
	WantOrder    = 1024 // no accesses
	WantLocks    = 2048 // the order of locks: with WantNothing, what a detector of potential deadlocks needs
)

// NoFunction stands for all functions in a location.
const NoFunction = 1<<32 - 1

// Flags of a location. The first three, the modes, say for which operations it stands.
const (
	LocationReads  = 1 << 0
	LocationWrites = 1 << 1
	LocationLocks  = 1 << 2
	LocationNoise  = 1 << 3
	LocationHeal   = 1 << 4
	LocationUnfit  = 1 << 5 // not to be healed, whatever is found there

	LocationRoles = 8  // from this bit on: its roles in scheduling
	LocationAbove = 24 // from this bit on: the number of calls above it at which its section ends
)

// Flags of a schedule, as it is sent.
const (
	SchedLog       = 1 << 0
	SchedByDefault = 1 << 1
	SchedNumber    = 1 << 2
	SchedToEnd     = 1 << 3
	SchedExplore   = 1 << 4
	SchedStill     = 1 << 5
	SchedSlow      = 1 << 6
	SchedValues    = 1 << 7
	SchedPrologue  = 1 << 8  // it is that of a prologue
	SchedForks     = 1 << 9  // at whose end the process is forked
	SchedAtMain    = 1 << 10 // the prologue ends where main begins, and not the first test
)
