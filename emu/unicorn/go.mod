module github.com/xol-go/xol/emu/unicorn

go 1.26.0

require (
	github.com/unicorn-engine/unicorn v0.0.0-20221122205502-56f3bdedb42d
	github.com/xol-go/xol v0.0.0-00010101000000-000000000000
)

require (
	github.com/mitchellh/colorstring v0.0.0-20190213212951-d06e56a500db // indirect
	github.com/rivo/uniseg v0.4.7 // indirect
	github.com/schollz/progressbar/v3 v3.19.1 // indirect
	github.com/urfave/cli/v3 v3.14.0 // indirect
	golang.org/x/arch v0.33.0 // indirect
	golang.org/x/sys v0.50.0 // indirect
	golang.org/x/term v0.48.0 // indirect
)

replace github.com/xol-go/xol => ../..
