package quorum_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/quorumlock/redlock-go/quorum"
)

func TestFence(t *testing.T) {
	for _, tt := range []struct {
		name      string
		given     []uint64
		no        uint64
		has, asks []int
	}{
		{"all agree", []uint64{7, 7, 7, 0, 0}, 7, []int{0, 1, 2}, nil},
		{"one is ahead", []uint64{7, 9, 7, 0, 0}, 9, []int{1}, []int{0, 2}},
		{"who comes later has no part in it", []uint64{0, 9, 8, 9, 0}, 9, []int{1, 3}, []int{2}},
		{"nobody counts", []uint64{0, 0, 0}, 0, nil, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := quorum.NewFence(tt.given)
			voters := func(of func(int) bool) (all []int) {
				for i := range tt.given {
					if of(i) {
						all = append(all, i)
					}
				}
				return all
			}
			assert.Equal(t, tt.no, f.No())
			assert.True(t, slices.Equal(tt.has, voters(f.Has)), "%v", voters(f.Has))
			assert.True(t, slices.Equal(tt.asks, voters(f.Asks)), "%v", voters(f.Asks))
		})
	}
}
