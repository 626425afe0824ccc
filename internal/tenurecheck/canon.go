package tenurecheck

import "github.com/quorumlock/redlock-go/quorum/tenure"

// Many states differ by nothing but names. Identities and nonces are compared, and that
// is all that is done with them; the two clients that lock are alike. So every state is
// given the same names as all those that are like it.

// names maps the names that a state uses.
type names [27]uint8

// nonces are those that a group's name is a digest of, by slot.
type nonces [seats]uint8

// none forgets all names. The empty name is kept.
func (n *names) none() { *n = names{} }

// use gives a name the next new one, if it has none yet.
func (n *names) use(name uint8) {
	if name != 0 && n[name] == 0 {
		n[0]++ // the empty name's place counts
		n[name] = n[0]
	}
}

// of returns the new name.
func (n *names) of(name uint8) uint8 {
	if name == 0 {
		return 0
	}
	return n[name]
}

// unused returns the first name that was not used.
func (n *names) unused() uint8 {
	for i := 1; i < len(n); i++ {
		if n[i] == 0 {
			return uint8(i)
		}
	}
	panic("too many names")
}

// canon gives everything its canonical name.
func (m *model) canon(s *state) {
	var ids names
	s.identities(&ids)
	s.rename(&ids)
	s.renameNonces(m.groups)
	if m.Moves {
		return // their lists differ
	}
	t := *s
	t.swap()
	if less(t.bytes(), s.bytes()) {
		*s = t
	}
}

// identities uses every identity, those of the processes first.
func (s *state) identities(n *names) {
	for i := range s.procs {
		n.use(s.procs[i].id)
	}
	s.records(func(r *record) {
		n.use(r.id)
		n.use(r.nonceID)
		for i := range r.terms {
			n.use(r.terms[i].waiterID)
		}
	})
	for i := range s.view.replies {
		n.use(s.view.replies[i].id)
	}
	for i := range s.lates {
		n.use(s.lates[i].id)
		n.use(s.lates[i].nonceID)
	}
}

func (s *state) rename(n *names) {
	for i := range s.procs {
		s.procs[i].id = n.of(s.procs[i].id)
	}
	s.records(func(r *record) {
		r.id, r.nonceID = n.of(r.id), n.of(r.nonceID)
		for i := range r.terms {
			r.terms[i].waiterID = n.of(r.terms[i].waiterID)
		}
	})
	for i := range s.view.replies {
		s.view.replies[i].id = n.of(s.view.replies[i].id)
	}
	for i := range s.lates {
		s.lates[i].id, s.lates[i].nonceID = n.of(s.lates[i].id), n.of(s.lates[i].nonceID)
	}
}

// records calls f with every record that is kept anywhere.
func (s *state) records(f func(r *record)) {
	for i := range s.procs {
		f(&s.procs[i].record)
	}
	f(&s.copied.record)
	for i := range s.view.replies {
		f(&s.view.replies[i].record)
	}
}

// nonces uses every nonce that is spoken of.
func (s *state) nonces(g *groups, n *names) {
	digest := func(of group) {
		if of == (group{}) || of == first {
			return
		}
		for _, nonce := range g.nonces[of.int()] {
			n.use(nonce)
		}
	}
	s.records(func(r *record) {
		n.use(r.nonce)
		for i := range r.terms {
			n.use(r.terms[i].waiter)
		}
		digest(r.group)
		digest(r.pledge)
	})
	for i := range s.locks {
		for _, v := range s.locks[i].votes {
			digest(v.group)
		}
	}
	for i := range s.lates {
		l := &s.lates[i]
		n.use(l.nonce)
		n.use(l.fresh)
		digest(l.group)
		digest(l.pledge)
	}
}

// renameNonces renames the nonces, and the groups that are named after them.
func (s *state) renameNonces(g *groups) {
	var n names
	s.nonces(g, &n)
	s.records(func(r *record) {
		r.nonce = n.of(r.nonce)
		r.group, r.pledge = g.rename(r.group, &n), g.rename(r.pledge, &n)
		for i := range r.terms {
			r.terms[i].waiter = n.of(r.terms[i].waiter)
		}
	})
	for i := range s.lates {
		l := &s.lates[i]
		l.nonce, l.fresh = n.of(l.nonce), n.of(l.fresh)
		l.group, l.pledge = g.rename(l.group, &n), g.rename(l.pledge, &n)
	}
	for i := range s.locks {
		for j := range s.locks[i].votes {
			v := &s.locks[i].votes[j]
			v.group = g.rename(v.group, &n)
		}
	}
}

// rename returns the group that is named after the new names of its nonces.
func (g *groups) rename(of group, n *names) group {
	if of == (group{}) || of == first {
		return of
	}
	renamed := g.nonces[of.int()]
	for i := range renamed {
		renamed[i] = n.of(renamed[i])
	}
	return g.digest(renamed)
}

// digest returns the group that is named after nonces.
func (g *groups) digest(of nonces) group {
	if known, ok := g.digests[of]; ok {
		return known
	}
	var values []string
	for _, nonce := range of {
		values = append(values, letters[nonce])
	}
	name := tenure.Digest(values)
	g.add(name, of)
	g.digests[of] = g.numbers[name]
	return g.numbers[name]
}

// swap makes each client that locks the other.
func (s *state) swap() {
	s.locks[0], s.locks[1] = s.locks[1], s.locks[0]
	key := func(k uint8) uint8 {
		if k != 0 {
			k ^= 3
		}
		return k
	}
	for i := range s.procs {
		s.procs[i].key = key(s.procs[i].key)
	}
	s.copied.key = key(s.copied.key)
	const both = 1 | 1<<locks
	s.masks(func(m mask) mask { return m&^(both|both<<1) | m&both<<1 | m>>1&both })
}

func less(a, b []byte) bool {
	for i := range a {
		if a[i] != b[i] {
			return a[i] < b[i]
		}
	}
	return false
}
