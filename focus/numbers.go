package focus

import "github.com/heisen-go/heisen"

// variableNumbers numbers variables densely. It remembers the latest variable of each site, so that as a
// rule nothing needs to be hashed.
type variableNumbers struct {
	all    []Variable // by number
	byName map[Variable]uint32
	bySite []siteVariable
}

type siteVariable struct {
	known    bool
	variable Variable
	number   uint32
}

// number returns the number of a variable that is accessed at a site, a new one if it has none.
func (n *variableNumbers) number(site heisen.Site, v Variable) uint32 {
	for int(site) >= len(n.bySite) {
		n.bySite = append(n.bySite, siteVariable{})
	}
	known := &n.bySite[site]
	if known.known && known.variable == v {
		return known.number
	}
	number, ok := n.byName[v]
	if !ok {
		if n.byName == nil {
			n.byName = map[Variable]uint32{}
		}
		number = uint32(len(n.all))
		n.byName[v] = number
		n.all = append(n.all, v)
	}
	*known = siteVariable{true, v, number}
	return number
}
