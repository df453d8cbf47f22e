package focus

// Kind is a way in which a program keeps the accesses of goroutines to a variable apart.
type Kind uint8

const (
	// Unknown means that none of the other kinds is known to hold.
	Unknown Kind = iota
	// Local means that one goroutine alone accesses each object.
	Local
	// ReadOnly means that one goroutine writes each object, before it publishes it, and that nobody
	// writes it afterwards.
	ReadOnly
	// Unique means that one goroutine at a time accesses each object, and that a message, such as a
	// value sent through a channel, hands it to the next.
	Unique
	// Guarded means that a goroutine holds the lock of the Guard whenever it accesses an object that
	// other goroutines can access too.
	Guarded
	// Self means that the variable is for synchronization: a lock, an atomic, a channel, or a value
	// whose methods synchronize.
	Self
)

var kindNames = [...]string{
	Unknown: "unknown", Local: "local", ReadOnly: "read-only",
	Unique: "handed over", Guarded: "guarded", Self: "synchronization",
}

// String returns the kind in words, such as "read-only".
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "kind?"
}

// Valid reports whether k is one of the constants of this package.
func (k Kind) Valid() bool { return int(k) < len(kindNames) }

// Guard says which lock protects a variable, in one of three ways:
//
//   - SameObject is true and Path is set: the lock is in the same struct value as the variable. Path
//     has the names of fields that lead from the variable's struct type to the lock, with dots
//     between them, such as "mu" or "state.mu". It may lead through pointers.
//   - SameObject is false and Variable has no Type: the lock is the package-level variable.
//   - SameObject is false and Variable has a Type: the lock is that field of another object, such as
//     the one that contains the variable's. Which object of the type it is, the Guard does not say.
type Guard struct {
	Variable   Variable
	SameObject bool
	Path       string
	// Shared says that the lock is a read-write lock, and that goroutines that only read may hold
	// it for reading. Writers hold it for writing.
	Shared bool
}

// String returns the guard in words, such as "mu", "example.com/bank.mu" or
// "example.com/bank.Bank.mu of another object". It does not tell whether readers share the lock.
func (g Guard) String() string {
	switch {
	case g.SameObject:
		return g.Path
	case g.Variable.Type != "":
		return g.Variable.String() + " of another object"
	}
	return g.Variable.String()
}

// Owner says how a program protects a variable. The zero Owner is unknown.
type Owner struct {
	Kind  Kind
	Guard Guard // which lock, if Kind is Guarded, and otherwise zero
}

// String returns the owner in words, such as "local", "guarded by mu" or "guarded by mu, which
// readers share".
func (o Owner) String() string {
	if o.Kind != Guarded {
		return o.Kind.String()
	}
	s := "guarded by " + o.Guard.String()
	if o.Guard.Shared {
		s += ", which readers share"
	}
	return s
}
