package src

type row struct {
	name string
	n    int
	next *row
	list []int
}

type wide struct{ all [40]int }

type box[T any] struct {
	value T
	items []T
}

func (b *box[T]) set(v T) {
	b.value = v                  // want write=b.value
	b.items = append(b.items, v) // want write=b.items read=b.items
}

func generic[K comparable, V any](m map[K]V, k K, b *box[V]) V {
	m[k] = b.value    // want write=m read=b.value
	b.value = m[k]    // want write=b.value read=m
	b.set(b.items[0]) // want read=b.items[0] | b.items
	return *new(V)    // want read=*new(V)
}

func literals() []*row {
	global.s = nil // want write=global.s
	rows := []row{ // want write=[]row{…} | row{…}
		{name: "a"}, // want write=[]row{…} | row{…}
		{n: total},  // want read=total write=[]row{…} | row{…}
	}
	rows = append(rows, row{n: 1}) // want write=rows
	pairs := map[string]*row{      // want write=map[string]*row{…} | row{…}
		"a": {n: total}, // want read=total write=map[string]*row{…} | row{…}
	}
	tests := []struct{ n, m int }{ // want write=[]struct{n, m int}{…}
		{1, total}, // want read=total
		{2, 3},     // want write=[]struct{n, m int}{…}
	}
	for _, t := range tests { // want read=tests
		_ = t.n // want
	}
	_ = [2]row{{n: total}, {n: 2}} // want read=total
	pairs["b"] = &rows[0]          // want write=pairs
	return []*row{                 // want write=[]*row{…} | row{…}
		{name: "z"}, // want write=[]*row{…} | row{…}
		&rows[1],    // want write=[]*row{…}
	}
}

func inPlace(r *row, i int) {
	r.list = append(r.list[:i], r.list[i+1:]...) // want write=r.list read=r.list
	copy(r.list[i:], r.list)                     // want write=r.list read=r.list
	clear(r.list[:i])                            // want write=r.list read=r.list
	_ = append(r.list[:0:0], list...)            // want write=r.list read=r.list | list
	(r.list)[i] = 1                              // want write=(r.list)[i] read=r.list
}

func conversions(b []byte, r []rune, s string) {
	_ = string(b)     // want read=b
	_ = string(r)     // want read=r
	_ = s + string(b) // want read=b
	m := map[string]int{}
	_ = m[string(b)]      // want read=m | b
	_ = []byte(s)         // want
	for range string(b) { // want read=b
	}
}

func captured(n int, w wide) (result int, err error) { // want write=n | w
	sum, last := 0, 0 // want write=sum
	var r row         // want write=r
	own := 3          // want
	go func() {
		sum += own   // want write=sum read=sum
		_ = w.all[n] // want read=w.all[n] | n
		n++          // want write=n read=n
		r.name = ""  // want write=r.name
		func() {
			r.next = &row{n: sum} // want write=r.next read=sum
		}()
	}()
	defer func() {
		result++ // want write=result read=result
		_ = err  // want read=err
	}()
	for i := 0; i < 3; i++ { // want
		go func() {
			sum += i // want write=sum read=sum
		}()
	}
	for i, v := range list { // want read=list
		go func() {
			sum = i + v // want write=sum
		}()
	}
	last++       // want
	return last, // want write=result | err
		nil
}

func statements(r *row, f func(...int) int) {
	go func(k int) {
		f(k,
			r.n,   // want read=r.n
			total) // want read=total
	}(
		r.next.n, // want read=r.next.n | r.next
	)
	if v := f(r.n); v > // want read=r.n
		r.next.n { // want read=r.next.n | r.next
		r.n = // want write=r.n
			f(
				r.list[0], // want read=r.list[0] | r.list
			)
	}
	for range f(func() int {
		return r.n // want read=r.n
	}()) {
		r.n++ // want write=r.n read=r.n
	}
	switch f(total) { // want read=total
	case r.n, // want read=r.n
		r.next.n: // want read=r.next.n | r.next
	}
}
