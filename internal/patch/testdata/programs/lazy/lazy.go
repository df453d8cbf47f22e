// Package lazy makes something when it is first needed.
package lazy

type client struct{ name string }

type pool struct {
	client *client
	made   int
}

func (p *pool) get() *client {
	if p.client == nil {
		p.client = &client{"c"}
		p.made++
	}
	return p.client
}

func (p *pool) rename(name string) {
	old := p.made
	old += len(name)
	p.made = old
}
