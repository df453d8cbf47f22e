package racyprograms

import "fmt"

// counter writes methods that add to x.n. Each returns how much.
func (g *generator) counter() {
	g.checks = append(g.checks, fmt.Sprintf("x.n != sum[i]%%%d", weight))
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
	)
}

// stock writes methods that take one of x.left if there is one.
func (g *generator) stock() {
	g.checks = append(g.checks, fmt.Sprintf("x.left < 0 || x.left+sum[i]/%d%%%[1]d != 1", weight))
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
	)
}

// highest writes methods that remember the highest value.
func (g *generator) highest() {
	g.checks = append(g.checks, fmt.Sprintf("sum[i]/%d%%%d > 0 && x.high < 5", weight*weight, weight))
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
	)
	g.operation("if x.high < 5 {\nx.high = 5\n}\nreturn %d", seen)
}

// started writes methods that start something once.
func (g *generator) started() {
	g.checks = append(g.checks, fmt.Sprintf("sum[i]/%d%%%d > 1", weight*weight*weight, weight))
	one := weight * weight * weight
	g.shapes(
		func() { g.operation("if x.running {\nreturn 0\n}\nx.running = true\nreturn %d", one) },
		func() { g.operation("if !x.running {\nx.running = true\ngo func() {}()\nreturn %d\n}", one) },
		func() { g.operation("was := x.running\nx.running = true\nif !was {\nreturn %d\n}", one) },
		func() {
			g.helper("is", "func (x *object) is() bool { return x.running }")
			g.operation("if x.is() {\nreturn 0\n}\nx.running = true\nreturn %d", one)
		},
	)
}

// numbers writes methods that hand out numbers for names.
func (g *generator) numbers() {
	g.checks = append(g.checks, "len(x.ids) != x.next")
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
	)
}

// collected writes methods that collect values.
func (g *generator) collected() {
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
