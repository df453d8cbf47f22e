package workload

import "github.com/heisen-go/heisen"

// Connections gives handle the events of a server that starts two threads for each of n connections, the
// first with number from. Nobody waits for a thread, except that the first passes an object on to the
// second. Each takes a lock that all have in common and one of its own, and does something at its end that
// no later thread is ordered after. Nothing races except for this.
func Connections(from, n int, handle func([]heisen.Record)) {
	const mu, counter, queue, left, heap = 0x1000, 0x2000, 0x3000, 0x4000, 1 << 20
	var batch []heisen.Record
	add := func(t heisen.Thread, op heisen.Op, o heisen.Object, site heisen.Site) {
		batch = append(batch, heisen.Record{Thread: t, Op: op, Object: o, Site: site})
	}
	for i := from; i < from+n; i++ {
		batch = batch[:0]
		first := heisen.Thread(1 + 2*i)
		object := heap + 64*heisen.Object(i%512)
		batch = append(batch, heisen.Record{Op: heisen.Alloc, Object: object, Value: 64})
		for t := first; t < first+2; t++ {
			add(0, heisen.Fork, heisen.Object(t), 1)
			add(t, heisen.Begin, heisen.Object(t), 2)
		}
		add(first, heisen.Write, object, 3)
		add(first, heisen.Acquire, object+8, 4)
		add(first, heisen.Write, object+16, 4)
		add(first, heisen.Release, object+8, 4)
		add(first, heisen.Send, queue+8*heisen.Object(i%16), 5)
		add(first+1, heisen.Receive, queue+8*heisen.Object(i%16), 6)
		add(first+1, heisen.Write, object, 7)
		for t := first; t < first+2; t++ {
			add(t, heisen.Acquire, mu, 8)
			add(t, heisen.Write, counter, 9)
			add(t, heisen.Release, mu, 10)
			add(t, heisen.Read, left+8*heisen.Object(i%1000), 11)
			add(t, heisen.End, heisen.Object(t), 0)
		}
		handle(batch)
	}
}
