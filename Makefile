# chatbench: `make demo` shows the whole job, `make test` proves it. Each target does its own set-up.
SHELL := /bin/bash
SWIFT ?= swift
CHECKS := --explicit-target-dependency-import-check error
DEBUG := $(SWIFT) build $(CHECKS)
# The release product has a folder of its own, so that debug and release never rebuild each other.
RELEASE := $(SWIFT) build -c release --scratch-path .build-release
PREFIX ?= /usr/local
PYTHONPATH := $(CURDIR)/.build/python
export PYTHONPATH

.PHONY: help deps test-deps build release demo test lint format bench soak fuzz defects install clean

help:
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

deps: ## install the system libraries (apt-get, as root or with sudo)
	@bash Tests/Tools/deps.sh build

test-deps: deps
	@bash Tests/Tools/deps.sh test

build: deps ## debug build
	$(DEBUG)

release: deps ## the product, optimised: .build-release/release/chatbench
	$(RELEASE) --product chatbench

demo: build ## twin, capture and core on loopback: recording, faulted replays, four reports
	.build/debug/chatbench demo -o Reports/demo

test: test-deps ## every test; prints how many ran
	bash Tests/Tools/test.sh $(CHECKS)

lint: ## format, imports, purity
	swift format lint --strict --recursive --parallel Package.swift Sources Tests
	bash Tests/Tools/purity.sh

format: ## rewrite the sources in the house format
	swift format --in-place --recursive --parallel Package.swift Sources Tests

bench: release test-deps ## ratios against public tools, in one run
	$(RELEASE) --product benchmarks
	python3 Tests/Tools/bench.py .build-release/release/chatbench

soak: build test-deps ## kill -9 in capture, 100 times; every plan over every sample with many seeds
	python3 Tests/Tools/soak.py .build/debug/chatbench

fuzz: build ## damaged recordings, plans and scenarios: never a crash
	python3 Tests/Tools/fuzz.py .build/debug/chatbench

defects: deps ## apply each planted defect, run, and print which claim found it
	python3 Tests/Tools/defects.py

install: release ## PREFIX=/usr/local
	install -D -m 755 .build-release/release/chatbench $(DESTDIR)$(PREFIX)/bin/chatbench

clean: ## remove everything that was built
	rm -rf .build .build-release
