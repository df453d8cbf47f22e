package order

// activity is the decision heuristic, VSIDS (Moskewicz et al.: Chaff, DAC 2001): a priority queue
// of the variables, or of the reads, that may still have to be decided. The one that took part in
// the most recent conflicts comes first. The score of a read is divided by the number of choices
// that it has left. The heap holds only variables of permanent clauses.
type activity struct {
	score  []float64 // by variable or read
	weight []float64 // factor of the score
	heap   []int32
	index  []int32 // by variable: index in heap, -1 if absent
	step   float64 // by which bump raises a score
	least  float64 // added to all scores, in steps, so that weights matter among old scores
}

const (
	activityDecay = 1 / 0.95
	activityMax   = 1e100
	leastActivity = 0.01 // activity.least of reads
)

func (a *activity) newVariable() {
	if a.step == 0 {
		a.step = 1
	}
	a.score = append(a.score, 0)
	a.weight = append(a.weight, 1)
	a.index = append(a.index, -1)
}

// bump raises the score of a variable.
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

// decay lowers the weight of all scores so far.
func (a *activity) decay() { a.step *= activityDecay }

// weigh sets the weight of a variable.
func (a *activity) weigh(v int32, weight float64) {
	a.weight[v] = weight
	if a.index[v] >= 0 {
		a.up(a.index[v])
		a.down(a.index[v])
	}
}

// add inserts a variable into the heap unless it is there.
func (a *activity) add(v int32) {
	if a.index[v] < 0 {
		a.index[v] = int32(len(a.heap))
		a.heap = append(a.heap, v)
		a.up(a.index[v])
	}
}

// pop removes the variable with the highest weighted score from the heap.
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

// above reports whether v is nearer to the top of the heap than w. Of equal ones the older is. If
// least is not 0, the relation may change as the step grows; the heap adapts when it next moves one
// of the two.
func (a *activity) above(v, w int32) bool {
	least := a.least * a.step
	x, y := (a.score[v]+least)*a.weight[v], (a.score[w]+least)*a.weight[w]
	return x > y || x == y && v < w
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
