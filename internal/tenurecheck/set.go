package tenurecheck

// set is a hash set of keys that are hashes already.
type set struct {
	keys []uint64
	n    int
}

func newSet() *set { return &set{keys: make([]uint64, 1<<16)} }

// add reports whether the key is new.
func (h *set) add(key uint64) bool {
	key |= 1 // 0 marks a free place
	if h.n*4 > len(h.keys)*3 {
		h.grow()
	}
	i := h.place(key)
	if h.keys[i] == key {
		return false
	}
	h.keys[i] = key
	h.n++
	return true
}

func (h *set) place(key uint64) uint64 {
	last := uint64(len(h.keys) - 1)
	i := key >> 1 & last
	for h.keys[i] != 0 && h.keys[i] != key {
		i = (i + 1) & last
	}
	return i
}

func (h *set) grow() {
	old := h.keys
	h.keys = make([]uint64, 2*len(old))
	for _, k := range old {
		if k != 0 {
			h.keys[h.place(k)] = k
		}
	}
}
