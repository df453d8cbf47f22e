package focus

import "github.com/heisen-go/heisen"

// variableNumbers numbers variables densely. It remembers the latest variable of each site, so that as a
// rule nothing needs to be hashed.
type variableNumbers struct {
	byName map[Variable]uint32
	bySite []siteVariable
	sites  heisen.Site // bounds the memory for sites: the variables of those beyond it are looked up by name
}

const maxSites = 1 << 20

type siteVariable struct {
	known    bool
	variable Variable
	number   uint32
}

// number returns the number of a variable that is accessed at a site, a new one if it has none.
func (n *variableNumbers) number(site heisen.Site, v Variable) uint32 {
	if site >= n.sites {
		return n.lookUp(v)
	}
	for int(site) >= len(n.bySite) {
		n.bySite = append(n.bySite, siteVariable{})
	}
	known := &n.bySite[site]
	if !known.known || known.variable != v {
		*known = siteVariable{true, v, n.lookUp(v)}
	}
	return known.number
}

func (n *variableNumbers) lookUp(v Variable) uint32 {
	number, ok := n.byName[v]
	if !ok {
		if n.byName == nil {
			n.byName = map[Variable]uint32{}
		}
		number = uint32(len(n.byName))
		n.byName[v] = number
	}
	return number
}
