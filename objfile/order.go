package objfile

import "slices"

// sortByAddr sorts list by address, and equal addresses by tie, which says so of
// any two. Lists of functions are long and their addresses near each other, so it
// sorts by the bits in which they differ, some at a time.
func sortByAddr[T any](list []T, addr func(*T) uint64, tie func(a, b T) int) {
	if len(list) < 64 {
		slices.SortFunc(list, func(a, b T) int {
			if x, y := addr(&a), addr(&b); x != y {
				if x < y {
					return -1
				}
				return 1
			}
			return tie(a, b)
		})
		return
	}
	low, high, sorted := addr(&list[0]), addr(&list[0]), true
	for i, last := 1, low; i < len(list); i++ {
		a := addr(&list[i])
		low, high, sorted, last = min(low, a), max(high, a), sorted && last <= a, a
	}
	if !sorted {
		radix(list, func(v *T) uint64 { return addr(v) - low }, high-low)
	}
	for i := 0; i < len(list); {
		j := i + 1
		for j < len(list) && addr(&list[j]) == addr(&list[i]) {
			j++
		}
		if j > i+1 {
			slices.SortFunc(list[i:j], tie)
		}
		i = j
	}
}

// radixBits is how many bits radix sorts by in one pass.
const radixBits = 11

// radix sorts list by keys up to top.
func radix[T any](list []T, key func(*T) uint64, top uint64) {
	from, to := list, make([]T, len(list))
	for shift := 0; shift < 64 && top>>shift != 0; shift += radixBits {
		var count [1 << radixBits]int
		for i := range from {
			count[key(&from[i])>>shift&(1<<radixBits-1)]++
		}
		at := 0
		for i, n := range count {
			count[i], at = at, at+n
		}
		for i := range from {
			n := &count[key(&from[i])>>shift&(1<<radixBits-1)]
			to[*n] = from[i]
			*n++
		}
		from, to = to, from
	}
	if len(list) > 0 && &from[0] != &list[0] {
		copy(list, from)
	}
}
