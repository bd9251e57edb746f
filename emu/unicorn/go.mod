module github.com/xol-go/xol/emu/unicorn

go 1.26.0

require (
	github.com/unicorn-engine/unicorn v0.0.0-20221122205502-56f3bdedb42d
	github.com/xol-go/xol v0.0.0-00010101000000-000000000000
)

replace github.com/xol-go/xol => ../..
