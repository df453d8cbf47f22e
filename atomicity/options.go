package atomicity

import (
	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/option"
)

// Boundaries says which events begin and end transactions. Values are combined with |.
//
// The events of a thread from the first to the last of a transaction belong to it, and so does
// everything in between: a transaction within another one belongs to the outermost. The End of a
// thread ends its transaction.
type Boundaries uint8

const (
	// Marked transactions extend from an Enter to its Exit.
	Marked Boundaries = 1 << iota
	// CriticalSections extend from the acquisition of a lock, in either mode, until the thread holds
	// as many locks as before it.
	CriticalSections
	// Calls extend from a Call to its Return.
	Calls

	allBoundaries = Marked | CriticalSections | Calls
)

// Option is an option that every constructor of the package accepts.
type Option func(*config) error

type config struct {
	sink         heisen.Sink
	boundaries   Boundaries
	selected     func(heisen.Event) bool
	noFirstLevel bool
	verified     func(heisen.Event) bool
	operation    func(heisen.Access) heisen.Site
	unrelated    func(heisen.Access) bool
	callbacks    func(heisen.Thread) bool
	dataOnly     bool
}

// WithSink sets where a detector reports its findings. Without it, or with nil, findings are
// counted and discarded.
func WithSink(sink heisen.Sink) Option {
	return func(c *config) error {
		if c.sink = sink; sink == nil {
			c.sink = discard
		}
		return nil
	}
}

// WithBoundaries sets which events begin and end transactions. The default is Marked.
func WithBoundaries(b Boundaries) Option {
	return func(c *config) error {
		if b == 0 || b&^allBoundaries != 0 {
			return option.Errorf("WithBoundaries: %#x, want a combination of Marked, CriticalSections and Calls", uint8(b))
		}
		c.boundaries = b
		return nil
	}
}

// WithSelection limits the transactions to those for which selected returns true. It is called with
// each Enter, acquisition or Call that could begin one, and may decide by the object, such as the
// name of a transaction or function, or by the site. The event is valid only during the call.
func WithSelection(selected func(heisen.Event) bool) Option {
	return func(c *config) error {
		if selected == nil {
			return option.Errorf("WithSelection: the function is nil")
		}
		c.selected = selected
		return nil
	}
}

// WithoutFirstLevel says that a Call within no other Call begins no transaction. It excludes the
// functions that goroutines start with, which are rarely meant to be atomic.
func WithoutFirstLevel() Option {
	return func(c *config) error {
		c.noFirstLevel = true
		return nil
	}
}

// WithVerified says which transactions are known to be atomic: those for which verified returns true. It is
// called with the event that begins the transaction, as the function of WithSelection is. Blocks then has less
// to compare: see Blocks. The other detectors do not use it. A transaction that is not atomic can be violated
// without a finding if verified returns true for it.
func WithVerified(verified func(heisen.Event) bool) Option {
	return func(c *config) error {
		if verified == nil {
			return option.Errorf("WithVerified: the function is nil")
		}
		c.verified = verified
		return nil
	}
}

// WithOperations says which events are parts of an atomic operation of a library, such as a call of
// sync.Map.Store or a send on a channel: operation returns the site of the call, or 0 for an event that is part
// of none. Nothing comes between two events of a thread of the same operation, so the detectors report no
// violation in which something does. Two calls from the same site, as in a loop, count as one.
func WithOperations(operation func(heisen.Access) heisen.Site) Option {
	return func(c *config) error {
		if operation == nil {
			return option.Errorf("WithOperations: the function is nil")
		}
		c.operation = operation
		return nil
	}
}

// WithUnrelated says which events conflict with no others for Serial, although they look like it: those for which
// unrelated returns true, such as accesses of a library to memory of its own, whose values nobody sees. A message of
// which this is true is still news of what was before it. The other detectors do not use this option. The function is
// called only with events that could be on a cycle, and with messages.
func WithUnrelated(unrelated func(heisen.Access) bool) Option {
	return func(c *config) error {
		if unrelated == nil {
			return option.Errorf("WithUnrelated: the function is nil")
		}
		c.unrelated = unrelated
		return nil
	}
}

// WithCallbacks says which threads only run callbacks that have nothing to do with each other, such as those of
// timers: callbacks returns true for them. What such a thread does after a Receive is in no order after what it did
// before. Only Serial uses this.
func WithCallbacks(callbacks func(heisen.Thread) bool) Option {
	return func(c *config) error {
		if callbacks == nil {
			return option.Errorf("WithCallbacks: the function is nil")
		}
		c.callbacks = callbacks
		return nil
	}
}

// WithDataOnly limits the findings of Serial to violations by data for which the transaction has not asked: see
// Serial. It is meant for transactions that nobody has declared, such as all critical sections of a program. The other
// detectors do not use it.
func WithDataOnly() Option {
	return func(c *config) error {
		c.dataOnly = true
		return nil
	}
}

// operations knows which events are of the same operation.
type operations func(heisen.Access) heisen.Site

// one reports whether two events of a thread are of the same operation. Only accesses with the same site or
// behind the same call can be.
func (of operations) one(a, b *heisen.Access) bool {
	if of == nil {
		return false
	}
	site := of(*a)
	return site != 0 && site == of(*b)
}

func discard(heisen.Finding) {}

func defaults() config { return config{sink: discard, boundaries: Marked} }

func newConfig(constructor string, opts []Option) (config, error) {
	c := defaults()
	err := option.Apply(constructor, &c, opts)
	return c, err
}
