package order

// activity picks the variable to decide next: the one that took part in most of
// the latest conflicts (VSIDS). It is a binary heap of those variables that occur
// in permanent clauses and may still have to be decided.
type activity struct {
	score []float64 // by variable
	heap  []int32
	index []int32 // by variable: place in heap, -1 if it is not there
	step  float64
}

const (
	activityDecay = 1 / 0.95
	activityMax   = 1e100
)

func (a *activity) newVariable() {
	if a.step == 0 {
		a.step = 1
	}
	a.score = append(a.score, 0)
	a.index = append(a.index, -1)
}

// bump raises a variable's score.
func (a *activity) bump(v int32) {
	a.score[v] += a.step
	if a.score[v] > activityMax {
		for i := range a.score {
			a.score[i] /= activityMax
		}
		a.step /= activityMax
	}
	if i := a.index[v]; i >= 0 {
		a.up(i)
	}
}

// decay makes what was bumped so far count less.
func (a *activity) decay() { a.step *= activityDecay }

// add puts a variable into the heap if it is not there.
func (a *activity) add(v int32) {
	if a.index[v] < 0 {
		a.index[v] = int32(len(a.heap))
		a.heap = append(a.heap, v)
		a.up(a.index[v])
	}
}

// pop takes the variable with the highest score out of the heap.
func (a *activity) pop() (v int32, ok bool) {
	if len(a.heap) == 0 {
		return -1, false
	}
	v = a.heap[0]
	a.index[v] = -1
	n := len(a.heap) - 1
	last := a.heap[n]
	a.heap = a.heap[:n]
	if n > 0 {
		a.heap[0] = last
		a.index[last] = 0
		a.down(0)
	}
	return v, true
}

// above says which of two variables is nearer to the top; of equal ones the
// older.
func (a *activity) above(v, w int32) bool {
	return a.score[v] > a.score[w] || a.score[v] == a.score[w] && v < w
}

func (a *activity) up(i int32) {
	v := a.heap[i]
	for i > 0 {
		p := (i - 1) / 2
		if !a.above(v, a.heap[p]) {
			break
		}
		a.heap[i] = a.heap[p]
		a.index[a.heap[i]] = i
		i = p
	}
	a.heap[i] = v
	a.index[v] = i
}

func (a *activity) down(i int32) {
	v := a.heap[i]
	n := int32(len(a.heap))
	for {
		k := 2*i + 1
		if k >= n {
			break
		}
		if k+1 < n && a.above(a.heap[k+1], a.heap[k]) {
			k++
		}
		if !a.above(a.heap[k], v) {
			break
		}
		a.heap[i] = a.heap[k]
		a.index[a.heap[i]] = i
		i = k
	}
	a.heap[i] = v
	a.index[v] = i
}
