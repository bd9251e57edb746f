// A Go program: goroutines that are preempted, a garbage collector, a panic that
// comes of a fault.
package main

import (
	"fmt"
	"runtime"
	"sort"
	"strings"
	"sync"
	"time"
)

type node struct{ left, right *node }

func tree(depth int) *node {
	if depth == 0 {
		return &node{}
	}
	return &node{tree(depth - 1), tree(depth - 1)}
}

func (n *node) count() int {
	if n.left == nil {
		return 1
	}
	return 1 + n.left.count() + n.right.count()
}

func words(seed int) string {
	var b strings.Builder
	list := []string{}
	for i := range 40 {
		list = append(list, fmt.Sprintf("%x", (seed+i)*2654435761%9973))
	}
	sort.Strings(list)
	for _, s := range list {
		b.WriteString(s)
	}
	return b.String()
}

//go:noinline
func load(p *int) int { return *p }

func fault() (what string) {
	defer func() { what = fmt.Sprint(recover()) }()
	return fmt.Sprint(load(nil))
}

// spin never yields: only a signal takes the processor from it.
func spin(stop *bool, mu *sync.Mutex) (n uint64) {
	for i := 0; i < 200000; i++ {
		n = n*6364136223846793005 + 1442695040888963407
	}
	return n
}

func main() {
	runtime.GOMAXPROCS(2)
	var wg sync.WaitGroup
	out := make([]string, 6)
	for i := range out {
		wg.Go(func() {
			n := tree(6).count()
			runtime.GC()
			out[i] = fmt.Sprintf("%d %d %x %s %s", i, n, spin(nil, nil), words(i)[:24], fault())
		})
	}
	ticks := time.NewTicker(time.Millisecond)
	defer ticks.Stop()
	<-ticks.C
	wg.Wait()
	for _, s := range out {
		fmt.Println(s)
	}
}
