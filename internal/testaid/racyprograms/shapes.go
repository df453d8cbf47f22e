package racyprograms

import "fmt"

// counter writes methods that add to x.n. Each returns how much.
func (g *generator) counter() {
	g.checks = append(g.checks, fmt.Sprintf("x.n != sum[i]%%%d", weight))
	g.never = append(g.never, "x.n < 0")
	k := func() int { return 1 + g.IntN(3) }
	g.shapes(
		func() { g.operation("x.n += %d\ndone = %[1]d", k()) },
		func() { g.operation("k := x.n\n%s\nx.n = k + %d\ndone = %[2]d", g.between(), k()) },
		func() {
			g.helper("getN", "func (x *object) getN() int { return x.n }")
			g.helper("setN", "func (x *object) setN(n int) { x.n = n }")
			g.operation("x.setN(x.getN() + %d)\ndone = %[1]d", k())
		},
		func() {
			g.helper("addN", "func (x *object) addN(k int) int {\n\tx.n += k\n\treturn k\n}")
			g.operation("done = x.addN(%d)", k())
		},
		func() { g.operation("func() { x.n += %d }()\ndone = %[1]d", k()) },
		func() { g.operation("defer func() { x.n += %d }()\ndone = %[1]d", k()) },
		func() { g.operation("for range %d {\nx.n++\n}\ndone = %[1]d", k()) },
		func() {
			g.helper("each", "func each(k int, f func(int)) {\n\tfor i := range k {\n\t\tf(i)\n\t}\n}")
			g.operation("each(%d, func(int) { x.n++ })\ndone = %[1]d", k())
		},
		func() {
			g.helper("String", "func (x *object) String() string { return fmt.Sprint(x.n) }")
			g.operation("x.n += %d\n_ = fmt.Sprint(x)\ndone = %[1]d", k())
		},
		func() {
			g.helper("String", "func (x *object) String() string { return fmt.Sprint(x.n) }")
			g.operation("x.n += %d + 0*len(fmt.Sprint(x.peer))\ndone = %[1]d", k())
		},
		func() { g.operation("x.n += %d + x.peer.n - x.peer.n\ndone = %[1]d", k()) },
		func() { g.operation("if x.n >= 0 {\nx.n += %d + 0*x.peer.n\n}\ndone = %[1]d", k()) },
		func() {
			g.helper("Error", "func (x *object) Error() string { return \"\" }")
			g.helper("Is", "func (x *object) Is(error) bool {\n\tx.n++\n\treturn true\n}")
			g.operation("if errors.Is(x, errors.ErrUnsupported) {\ndone = 1\n}")
		},
		func() {
			g.helper("check", "func check(k int) int {\n\tif k < 0 {\n\t\tpanic(\"negative\")\n\t}\n\treturn k\n}")
			g.operation("defer func() { recover() }()\nx.n += check(%d)\nreturn %[1]d", k())
			g.operation("defer func() { recover() }()\nx.n += check(-1)\nreturn 7")
		},
		func() {
			g.operation("switch n := x.n; {\ncase n < 0:\nreturn 0\ndefault:\nx.n = n + %d\n}\ndone = %[1]d", k())
		},
		func() {
			g.operation("list := []int{2, 1}\nsort.Slice(list, func(i, j int) bool { x.n++; done++; return list[i] < list[j] })")
		},
		func() {
			g.operation("slices.IndexFunc([]int{1, 2}, func(v int) bool { x.n += v; done += v; return false })")
		},
		func() {
			if g.locked {
				g.operation("x.mu.Lock()\ndefer x.mu.Unlock()\nx.n += %d\nreturn %[1]d", k())
			}
			g.operation("x.n += %d\ndone = %[1]d", k())
		},
		func() {
			if g.locked {
				g.operation("x.mu.Lock()\nk := x.n\nx.mu.Unlock()\nx.n = k + %d\ndone = %[1]d", k())
			}
			g.operation("k := x.n + %d\nif k > 0 {\nx.n = k\n}\ndone = %[1]d", k())
		},
		func() { g.operation("p := &x.peer\nif *p != nil {\nx.n += %d\n}\ndone = %[1]d", k()) },
		func() {
			g.operation("last := x.n\nfor range %d {\nlast++\nx.n = last\nlast = x.n\n}\ndone = %[1]d", k())
		},
		func() { g.operation("x.n, done = x.n+%d, %[1]d", k()) },
		func() { g.operation("y, k := x, x.n\ny.n = k + %d\ndone = %[1]d", k()) },
		func() { g.operation("if k := x.n; k >= 0 {\nx.n = k + %d\n}\ndone = %[1]d", k()) },
		func() {
			g.helper("addN", "func (x *object) addN(k int) int {\n\tx.n += k\n\treturn k\n}")
			g.operation("add := x.addN\ndone = add(%d)", k())
		},
		func() {
			g.helper("addN", "func (x *object) addN(k int) int {\n\tx.n += k\n\treturn k\n}")
			g.helper("adder", "type adder interface{ addN(k int) int }")
			g.operation("var a adder = x\ndone = a.addN(%d)", k())
		},
		func() {
			g.helper("with", "func with[T any](v T, f func(T)) { f(v) }")
			g.operation("with(x, func(x *object) { x.n += %d })\ndone = %[1]d", k())
		},
		func() {
			g.helper("upTo", "func upTo(k int) iter.Seq[int] {\n\treturn func(yield func(int) bool) {\n\t\tfor i := range k {\n\t\t\tif !yield(i) {\n\t\t\t\treturn\n\t\t\t}\n\t\t}\n\t}\n}")
			g.operation("for range upTo(%d) {\nx.n++\ndone++\n}", k())
		},
		func() { g.operation("for i := 0; i < %d && x.n >= 0; i++ {\nx.n++\ndone++\n}", k()) },
		func() {
			g.helper("getN", "func (x *object) getN() int { return x.n }")
			g.helper("setN", "func (x *object) setN(n int) { x.n = n }")
			g.operation("for i, v := 0, 0; i < %d; x.setN(v + 1) {\nv = x.getN()\ni++\ndone++\n}", k())
		},
		func() {
			g.helper("getN", "func (x *object) getN() int { return x.n }")
			g.operation("x.n = x.getN() + %d\ndone = %[1]d", k())
		},
		func() { g.operation("var once sync.Once\nonce.Do(func() { x.n += %d })\ndone = %[1]d", k()) },
		func() {
			g.operation("i := 0\nagain:\nx.n++\ndone++\ni++\nif i < %d {\ngoto again\n}\nreturn done", k())
		},
		func() {
			g.operation("select {\ncase <-x.tick:\nx.n += %d\ndone = %[1]d\ndefault:\nx.n++\ndone = 1\n}", k())
		},
		func() {
			g.operation("var wg sync.WaitGroup\nwg.Go(func() { x.n += %d })\nwg.Wait()\ndone = %[1]d", k())
		},
		func() {
			g.helper("MarshalJSON", "func (x *object) MarshalJSON() ([]byte, error) { return []byte(strconv.Itoa(x.n)), nil }")
			g.operation("x.n += %d\n_, _ = json.Marshal(x)\ndone = %[1]d", k())
		},
		func() {
			g.operation("defer func() {\nif recover() != nil {\ndone = 0\n}\n}()\nk := x.n\nx.n = k + %d\nreturn %[1]d", k())
		},
		func() { g.operation("strings.Map(func(r rune) rune { x.n++; done++; return r }, \"ab\")") },
		func() {
			g.operation("list := []func(int){func(k int) { x.n += k }}\nfor _, f := range list {\nf(%d)\n}\ndone = %[1]d", k())
		},
	)
}

// stock writes methods that take one of x.left if there is one.
func (g *generator) stock() {
	g.checks = append(g.checks, fmt.Sprintf("x.left < 0 || x.left+sum[i]/%d%%%[1]d != 1", weight))
	g.never = append(g.never, "x.left < 0")
	taken := weight
	g.shapes(
		func() { g.operation("if x.left > 0 {\nx.left--\nreturn %d\n}", taken) },
		func() {
			g.operation("k := x.left\nif k == 0 {\nreturn 0\n}\n%s\nx.left = k - 1\nreturn %d", g.between(), taken)
		},
		func() {
			g.helper("any", "func (x *object) any() bool { return x.left > 0 }")
			g.helper("take", "func (x *object) take() { x.left-- }")
			g.operation("if !x.any() {\nreturn 0\n}\nx.take()\nreturn %d", taken)
		},
		func() {
			g.operation("for range 3 {\nif x.left == 0 {\nbreak\n}\nx.left--\ndone += %d\n}", taken)
		},
		func() {
			g.operation("switch {\ncase x.left == 0:\nreturn 0\ncase x.left > 0:\nx.left--\n}\nreturn %d", taken)
		},
		func() { g.operation("ok := x.left > 0 && x.peer != nil\nif ok {\nx.left--\nreturn %d\n}", taken) },
		func() { g.operation("take := func() { x.left-- }\nif x.left > 0 {\ntake()\nreturn %d\n}", taken) },
		func() {
			g.operation("if x.left > 0 {\ndefer func() { x.left-- }()\nreturn %d\n}", taken)
		},
		func() { g.operation("for x.left > 0 {\nx.left--\ndone += %d\n}", taken) },
		func() { g.operation("if x.left == 0 || x.peer == nil {\nreturn 0\n}\nx.left--\nreturn %d", taken) },
		func() {
			g.helper("tryTake", "func (x *object) tryTake() bool {\n\tif x.left == 0 {\n\t\treturn false\n\t}\n\tx.left--\n\treturn true\n}")
			g.operation("if x.tryTake() {\ndone = %d\n}", taken)
		},
		func() {
			g.helper("reserve", "func (x *object) reserve() error {\n\tif x.left == 0 {\n\t\treturn errors.New(\"none\")\n\t}\n\treturn nil\n}")
			g.helper("take", "func (x *object) take() { x.left-- }")
			g.operation("if err := x.reserve(); err != nil {\nreturn 0\n}\nx.take()\nreturn %d", taken)
		},
		func() {
			g.operation("free := func() bool { return x.left > 0 }\nif free() {\nx.left--\nreturn %d\n}", taken)
		},
		func() {
			g.helper("any", "func (x *object) any() bool { return x.left > 0 }")
			g.operation("ok := x.any()\nif ok {\nx.left--\n}\nif ok {\nreturn %d\n}", taken)
		},
		func() { g.operation("n := min(x.left, 1)\nx.left -= n\nreturn n * %d", taken) },
		func() {
			g.helper("price", "type price struct{ left int }")
			g.operation("p := price{x.left}\nif p.left > 0 {\nx.left = p.left - 1\nreturn %d\n}", taken)
		},
		func() { g.operation("take := x.left > 0\ngo func() {}()\nif take {\nx.left--\nreturn %d\n}", taken) },
		func() {
			g.operation("for i := 0; ; i++ {\nif i == 2 || x.left == 0 {\nreturn done\n}\nif x.left > 0 {\nx.left--\ndone += %d\n}\n}\nreturn done", taken)
		},
	)
}

// highest writes methods that remember the highest value.
func (g *generator) highest() {
	g.checks = append(g.checks, fmt.Sprintf("sum[i]/%d%%%d > 0 && x.high < 5", weight*weight, weight))
	g.never = append(g.never, "x.high < 0")
	seen := weight * weight
	g.shapes(
		func() { g.operation("if %d > x.high {\nx.high = %[1]d\n}", 1+g.IntN(4)) },
		func() { g.operation("if x.high < 5 {\nx.high = 5\n}\nreturn %d", seen) },
		func() { g.operation("x.high = max(x.high, 5)\nreturn %d", seen) },
		func() { g.operation("k := x.high\n%s\nif k < 3 {\nx.high = 3\n}", g.between()) },
		func() {
			g.operation("for _, v := range []int{2, 5, 1} {\nif v <= x.high {\ncontinue\n}\nx.high = v\n}\nreturn %d", seen)
		},
		func() { g.operation("x.high = max(x.high, x.peer.high)") },
		func() { g.operation("if v := 5; v > x.high {\nx.high = v\n}\nreturn %d", seen) },
		func() {
			g.helper("raise", "func (x *object) raise(v int) {\n\tif x.high >= v {\n\t\treturn\n\t}\n\tx.high = v\n}")
			g.operation("x.raise(5)\nreturn %d", seen)
		},
		func() {
			g.helper("above", "func (x *object) above(v int) bool { return x.high >= v }")
			g.operation("switch {\ncase x.above(4):\ndefault:\nx.high = 4\n}")
		},
	)
	g.operation("if x.high < 5 {\nx.high = 5\n}\nreturn %d", seen)
}

// started writes methods that start something once.
func (g *generator) started() {
	g.checks = append(g.checks, fmt.Sprintf("sum[i]/%d%%%d > 1", weight*weight*weight, weight))
	g.never = append(g.never, "x.running && x.peer == nil")
	one := weight * weight * weight
	g.shapes(
		func() { g.operation("if x.running {\nreturn 0\n}\nx.running = true\nreturn %d", one) },
		func() { g.operation("if !x.running {\nx.running = true\ngo func() {}()\nreturn %d\n}", one) },
		func() { g.operation("was := x.running\nx.running = true\nif !was {\nreturn %d\n}", one) },
		func() {
			g.helper("is", "func (x *object) is() bool { return x.running }")
			g.operation("if x.is() {\nreturn 0\n}\nx.running = true\nreturn %d", one)
		},
		func() {
			g.helper("begin", "func (x *object) begin() (first bool) {\n\tfirst = !x.running\n\tx.running = true\n\treturn first\n}")
			g.operation("if x.begin() {\nreturn %d\n}", one)
		},
		func() {
			g.operation("switch x.running {\ncase true:\nreturn 0\n}\nx.running = true\nreturn %d", one)
		},
		func() {
			g.helper("is", "func (x *object) is() bool { return x.running }")
			g.helper("mark", "func (x *object) mark() { x.running = true }")
			g.operation("if !x.is() {\ndefer x.mark()\nreturn %d\n}", one)
		},
	)
}

// numbers writes methods that hand out numbers for names.
func (g *generator) numbers() {
	g.checks = append(g.checks, "len(x.ids) != x.next")
	g.never = append(g.never, "x.next < 0")
	names := []string{`"a"`, `"b"`, `"c"`}
	name := func() string { return names[g.IntN(len(names))] }
	g.shapes(
		func() {
			g.operation("id, ok := x.ids[%s]\nif !ok {\nx.next++\nid = x.next\nx.ids[%[1]s] = id\n}\n_ = id", name())
		},
		func() {
			g.operation("if _, ok := x.ids[%s]; ok {\nreturn 0\n}\nx.next++\nx.ids[%[1]s] = x.next", name())
		},
		func() {
			g.operation("if x.ids[%s] == 0 {\nk := x.next + 1\n%s\nx.ids[%[1]s] = k\nx.next = k\n}", name(), g.between())
		},
		func() { g.operation("if _, ok := x.ids[%s]; ok {\ndelete(x.ids, %[1]s)\nx.next--\n}", name()) },
		func() {
			g.helper("number", "func (x *object) number(name string) int {\n\tif id, ok := x.ids[name]; ok {\n\t\treturn id\n\t}\n\tx.next++\n\tx.ids[name] = x.next\n\treturn x.next\n}")
			g.operation("_ = x.number(%s)", name())
		},
		func() {
			g.helper("has", "func (x *object) has(name string) bool {\n\t_, ok := x.ids[name]\n\treturn ok\n}")
			g.operation("if !x.has(%s) {\nx.next++\nx.ids[%[1]s] = x.next\n}", name())
		},
		func() {
			g.operation("for _, name := range []string{\"a\", \"b\"} {\nif x.ids[name] != 0 {\ncontinue\n}\nx.next++\nx.ids[name] = x.next\n}")
		},
	)
}

// collected writes methods that collect values.
func (g *generator) collected() {
	g.never = append(g.never, "cap(x.items) < 0")
	one := weight * weight * weight * weight
	g.checks = append(g.checks, fmt.Sprintf("len(x.items) != sum[i]/%d", one))
	g.shapes(
		func() { g.operation("x.items = append(x.items, 1)\ndone = %d", one) },
		func() { g.operation("items := x.items\nitems = append(items, 2)\nx.items = items\ndone = %d", one) },
		func() { g.operation("for i := range 2 {\nx.items = append(x.items, i)\n}\ndone = %d", 2*one) },
		func() {
			g.operation("x.items = append(x.items, 3)\nsort.Slice(x.items, func(i, j int) bool { return x.items[i] < x.items[j] })\ndone = %d", one)
		},
		func() { g.operation("defer func() { recover() }()\nif len(x.items) > 0 {\n_ = x.items[5]\n}") },
	)
}
