package order

// activity picks the variable or the read to decide next: the one that took part in most
// of the latest conflicts (VSIDS), of reads for each choice that they have left. It is a
// binary heap of those that may still have to be decided: of variables, those that occur
// in permanent clauses.
type activity struct {
	score  []float64 // by variable, or by read
	weight []float64 // what the score is multiplied with
	heap   []int32
	index  []int32 // by variable: place in heap, -1 if it is not there
	step   float64
	least  float64 // the part of a step that scores are higher, so that weights count where scores are old
}

const (
	activityDecay = 1 / 0.95
	activityMax   = 1e100
	leastActivity = 0.01 // of reads
)

func (a *activity) newVariable() {
	if a.step == 0 {
		a.step = 1
	}
	a.score = append(a.score, 0)
	a.weight = append(a.weight, 1)
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

// weigh changes a weight.
func (a *activity) weigh(v int32, weight float64) {
	a.weight[v] = weight
	if a.index[v] >= 0 {
		a.up(a.index[v])
		a.down(a.index[v])
	}
}

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
// older. (With a least score that may change as steps grow. The heap learns of it when
// it next moves one of them.)
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
