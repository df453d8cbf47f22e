// Package scc finds the strongly connected components of a graph.
package scc

import "slices"

// Components returns the strongly connected components of the graph with the nodes from 0 to n-1: the largest sets of nodes of
// which each leads to all others (Tarjan, Depth-First Search and Linear Graph Algorithms, 1972). next returns the
// nodes to which edges lead from a node. A component comes after those to which its edges lead. Its nodes
// ascend. A node may lead to itself, which does not matter. The time is linear in the number of nodes and edges.
func Components(n int, next func(int) []int) (all [][]int) {
	index, low := make([]int, n), make([]int, n)
	onStack := make([]bool, n)
	var stack []int
	count := 0
	var visit func(int)
	visit = func(v int) {
		count++
		index[v], low[v] = count, count
		stack = append(stack, v)
		onStack[v] = true
		for _, w := range next(v) {
			if index[w] == 0 {
				visit(w)
				low[v] = min(low[v], low[w])
			} else if onStack[w] {
				low[v] = min(low[v], index[w])
			}
		}
		if low[v] != index[v] {
			return
		}
		var component []int
		for {
			w := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			onStack[w] = false
			component = append(component, w)
			if w == v {
				break
			}
		}
		slices.Sort(component)
		all = append(all, component)
	}
	for v := range n {
		if index[v] == 0 {
			visit(v)
		}
	}
	return all
}
