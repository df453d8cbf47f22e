package controlled

import (
	"errors"
	"sync"

	"github.com/heisen-go/heisen/internal/recorder"
)

// A workplace is what an execution needs besides the program: a folder for its temporary files, and an entrance for the
// recorder's connection.
type workplace struct {
	temporary *folder
	listener  *recorder.Listener
}

// workplaces has the workplaces that no execution uses. Making files again and again costs a fifth of a short execution: file
// systems avoid the numbers of those that were just removed. A nil *workplaces keeps none. Several goroutines may use it.
type workplaces struct {
	mu     sync.Mutex
	free   []workplace
	closed bool
}

// take returns a workplace that is like a new one.
func (w *workplaces) take() (p workplace, err error) {
	if w != nil {
		w.mu.Lock()
		if last := len(w.free) - 1; last >= 0 {
			p, w.free = w.free[last], w.free[:last]
		}
		w.mu.Unlock()
	}
	if p.temporary == nil {
		p.temporary, err = takeFolder()
	}
	if p.listener == nil && err == nil {
		p.listener, err = recorder.Listen()
	}
	if err != nil {
		return workplace{}, errors.Join(err, p.giveUp())
	}
	return p, nil
}

// putBack takes back a workplace after an execution, and gives up what the next one could tell from new.
func (w *workplaces) putBack(p workplace) {
	if w == nil || !p.temporary.untouched() {
		p.temporary.release()
		p.temporary = nil
	}
	if w == nil || !p.listener.Again() {
		p.listener.Close()
		p.listener = nil
	}
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		p.giveUp()
		return
	}
	w.free = append(w.free, p)
}

// close gives up all workplaces, now or when they are put back.
func (w *workplaces) close() {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.free {
		p.giveUp()
	}
	w.free, w.closed = nil, true
}

// giveUp removes what there is of a workplace.
func (p *workplace) giveUp() (err error) {
	if p.temporary != nil {
		p.temporary.release()
	}
	if p.listener != nil {
		err = p.listener.Close()
	}
	return err
}
