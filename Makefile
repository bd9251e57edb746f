# The targets people use: test, sweep, bench, generate, lint. `make help`.

SHELL := /bin/bash
.NOTPARALLEL:
.DEFAULT_GOAL := help

GO          ?= go
STATICCHECK := $(GO) tool -modfile=$(CURDIR)/tools/go.mod staticcheck
NESTED      := emu/unicorn
FUZZCOUNT   ?= 20000x

# Packages whose results must not depend on the machine they run on.
PORTABLE := ./fixups/... ./reloc/... ./corpus/... ./arch/...

# In the gate an outside judge that is missing is a failure and not a skip.
test sweep race nested portable: export XOL_ORACLES = required

##help        show this list
help:
	@sed -n 's/^##//p' $(MAKEFILE_LIST)

##test        everything that must hold: installs what it needs, about 15 minutes
test: deps lint generated unit cheader race nocgo cross portable nested fuzz
	@echo "make test: all passed"

##lint        gofmt, vet, staticcheck, module files, text rules
lint:
	.ci/gofmt
	.ci/lint
	$(GO) vet ./...
	$(STATICCHECK) ./...
	$(GO) mod tidy -diff
	cd tools && $(GO) mod tidy -diff

##generate    rewrite the generated files
generate:
	$(GO) generate ./...

##bench       all benchmarks, here and in the nested module
bench: deps
	$(GO) test -run='^$$' -bench=. -benchmem ./...
	cd $(NESTED) && $(GO) test -run='^$$' -bench=. -benchmem ./...

##sweep       opcode spaces and whole programs against other decoders: an hour or more
sweep: deps-sweep
	XOL_SWEEP=1 $(GO) test -run=Sweep -v -timeout=0 ./...

##fuzz        every fuzz target, FUZZCOUNT inputs each
fuzz:
	.ci/fuzz . $(FUZZCOUNT)
	.ci/fuzz $(NESTED) $(FUZZCOUNT)

##deps        Debian packages for test and bench (.ci/apt.txt)
deps:
	.ci/deps .ci/apt.txt

##deps-sweep  Debian packages for sweep (.ci/apt-sweep.txt)
deps-sweep:
	.ci/deps .ci/apt.txt .ci/apt-sweep.txt

# The parts of test.

generated:
	.ci/generated

unit:
	$(GO) test ./...

cheader:
	.ci/cheader

race:
	$(GO) test -race ./...

nocgo:
	CGO_ENABLED=0 $(GO) build ./...

cross:
	.ci/cross

# The same tests with 32-bit words, and with the other byte order.
portable:
	CGO_ENABLED=0 GOARCH=386 $(GO) test -short $(PORTABLE)
	CGO_ENABLED=0 GOARCH=ppc64 $(GO) test -short -exec=qemu-ppc64-static $(PORTABLE)

nested:
	cd $(NESTED) && $(GO) vet ./...
	cd $(NESTED) && $(STATICCHECK) ./...
	cd $(NESTED) && $(GO) mod tidy -diff
	cd $(NESTED) && $(GO) test ./...
	cd $(NESTED) && $(GO) test -race -short ./...

.PHONY: help test lint generate bench sweep fuzz deps deps-sweep generated unit cheader race nocgo cross portable nested
