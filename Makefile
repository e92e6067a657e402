# `make help` lists the targets. `make test` must pass before a change is merged.

GO      ?= go
BIN     := bin/wardroom
LINT    := $(GO) tool -modfile=tools/go.mod golangci-lint
# The same flags for the binary and all tests, so that they share the build cache.
export GOFLAGS := -trimpath $(filter-out -trimpath,$(GOFLAGS))
# The race detector skips SQLite's code and bcrypt, which run several times faster without it; races in Wardroom's
# code are still found. Checks of unsafe pointers are off, because Wardroom does not use them.
RACE    := -race -gcflags='all=-d=checkptr=0' -gcflags='modernc.org/...=-race=false -d=checkptr=0' -gcflags='golang.org/x/crypto/...=-race=false -d=checkptr=0'
RAN     := $(GO) run ./test/ran
# Without debug data, which stack traces do not need, each of the 75 test binaries links almost twice as fast.
UNIT    := $(GO) test -json -count=1 -vet=off -ldflags=-w -timeout 45m
# The slowest packages, which start first so that the run does not end with waiting for them.
LONGEST := ./internal/app ./test/durable ./internal/standup ./test/faults
# The detector runs where goroutines are started. It also sees all other packages at work there.
RACED    = $(shell test/packages.sh raced)
PLAIN    = $(shell test/packages.sh plain)
STORED   = $(shell test/packages.sh stored)
# Tests that use much CPU, which the race detector multiplies, and the packages they are in. They run without it, and few
# at a time; `make nightly` runs them with it.
COSTLY  := $(subst $() ,|,$(strip Growth Tree Contract OwnAndForeign Faults FaultsThatFillMemory RetiredPhrases \
	DemoIsLivedIn DemoGoesOnFilling DemoGoesOnWorking DemoStandup DemoWorksOnTask DemoGoesOnAfterDecision \
	DemoClaimsAndUnknownTasks DemoNeedsYou DemoAsks RetentionSurvivesItsProcess DashboardsCostTheGatewayNothing UsageEqualsTheRuntimes \
	InvisibleCharacters RoutesAskForTheirPermission AbsenceInZonesOfTeams AbsenceSummerTime NoAbsence \
	AnswerOfTwoMegabytes RunawayReport SessionsThroughDisorder ClientHuge ClientHugeEvent Bloat BackupBesideService KilledUnderLoad \
	AgentsDocument RollupEqualsTheLedger))
COSTLY  := ^Test($(COSTLY))$$
COSTING := ./internal/app ./internal/standup ./test/faults ./internal/usage ./cmd/wardroom
# Tests that `make test` runs on SQLite alone, because most of their time goes into what is the same on both databases.
# `make nightly` runs them on PostgreSQL. Of the points at which TestKill kills the service, four stay.
ON_SQLITE := ^Test(Demo([A-Z].*)?|Tree|RetiredPhrases|AgentsDocument|Growth|UsageEqualsTheRuntimes|InvisibleCharacters|Pairing|Keys)$$|\
	^Test(MissedJobReachesTheInbox|DispatchWaits|DispatchMoot|DispatchEnds|DispatchEndedLongAgo|StandupRetry|RetryAtOnce)$$|\
	^Test(KillDispatch|KillHold|KilledUnderLoad|AbsenceInZonesOfTeams|BlockerOfSilent)$$|\
	^TestKill$$/postgres/^(a|an|the|in|during|after|while|before)_
# The tests on a real gateway that `make nightly` runs: they take minutes, or repeat what others show.
TRIALS  := ^(TestLedger|TestSlots|TestAccess|TestPairing|TestTwentyRuns)$$
REPEATS := TestJourney/PostgreSQL|TestDispatch/costs_what_those_cost|TestDispatch/is_seen_with|TestJourney/SQLite/goes_on_without_an_agent|TestDispatch/costs_what_it_cost|TestDispatch/is_found_answered|TestJourney/SQLite/shows_what_four_agents
STAGE   := @test/stage.sh

# With pipefail, a failed test fails the target even if its output goes through a pipe.
SHELL       := bash
.SHELLFLAGS := -o pipefail -c

.DEFAULT_GOAL := help
.PHONY: help build fmt lint deadcode generate needs format-check web web-needs web-check e2e pictures \
	check unit unit-race unit-sqlite unit-costly unit-plain unit-postgres journey trials claims test timed untimed nightly measure bench clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

# The flags leave out symbols and debug data, which stack traces do not need.
build: ## build the binary bin/wardroom
	$(GO) build -trimpath -ldflags='-s -w' -o $(BIN) ./cmd/wardroom

fmt: ## format the Go code
	$(LINT) fmt

lint: deadcode ## run golangci-lint with all checks of go vet, and find functions that the binary never calls
	$(LINT) run ./...

# The tests of roles and of docs/settings.md call what is left out here from other packages.
deadcode:
	@$(GO) tool -modfile=tools/go.mod deadcode ./cmd/wardroom | { ! grep -v -e '/actor.go:.* Permissions$$' -e '/config/settings.go:'; }

# The tests that check the generated files (the OpenAPI document, docs/settings.md and docs/errors.md) also write
# them.
generate: ## write the files that are generated from the code
	$(GO) test ./internal/app -count=1 -run 'Generated' -update

# The packages that build the dashboard. The lock files name no registry, so npm uses the one in its settings.
web-needs: web/node_modules/.package-lock.json web/openapi/node_modules/.package-lock.json

web/node_modules/.package-lock.json: web/package-lock.json
	npm ci --prefix web --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

web/openapi/node_modules/.package-lock.json: web/openapi/package-lock.json
	npm ci --prefix web/openapi --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

web: web-needs ## build the dashboard: generate the API types, format the sources, write web/dist
	npm run --silent --prefix web/openapi generate
	npm run --silent --prefix web fix
	npm run --silent --prefix web build

web-check: web-needs ## check the dashboard: types, lint, tests, and that web/dist is up to date
	npm run --silent --prefix web/openapi generate -- --check
	npm run --silent --prefix web check
	npm run --silent --prefix web test
	cd web && npx vite build --logLevel=warn --outDir ../bin/web-check --emptyOutDir
	@diff -rq web/dist bin/web-check || { echo "web/dist is out of date: run make web" >&2; exit 1; }

e2e: build web-needs ## test the dashboard in a real browser against the built binary (E2E=tasks: only those files)
	npm run --silent --prefix web e2e -- $(E2E)

pictures: build web-needs ## take screenshots of every page in both themes, desktop and phone, in bin/pictures
	PICTURES=$(CURDIR)/bin/pictures npm run --silent --prefix web e2e

needs:
	@test/needs.sh
	@$(GO) version
	@echo "node $$(node --version), npm $$(npm --version)"

format-check:
	$(LINT) fmt --diff

check: ## run before each commit: format, lint, Go tests on SQLite without the race detector and the costly ones
	$(LINT) fmt --diff
	@$(MAKE) --no-print-directory lint
	TEST_ENGINES=sqlite $(GO) test -vet=off -parallel 16 -skip '$(COSTLY)' ./internal/app ./cmd/... ./internal/... ./web ./test/faults ./test/ran

unit: unit-race unit-sqlite unit-postgres ## all Go tests: with the race detector what starts goroutines, all else without it

unit-race:
	@mkdir -p bin
	TEST_ENGINES=sqlite $(UNIT) -parallel 9 $(RACE) -skip '$(COSTLY)' $(filter-out ./test/durable,$(LONGEST)) $(RACED) | $(RAN) record bin/unit-race.ran

# Half of the costly tests' time is waiting, so the others run beside them.
unit-sqlite:
	@$(MAKE) --no-print-directory -j 2 unit-costly unit-plain

unit-costly:
	@mkdir -p bin
	TEST_ENGINES=sqlite $(UNIT) -parallel 6 -run '$(COSTLY)' $(COSTING) | $(RAN) record bin/unit-costly.ran

unit-plain:
	@mkdir -p bin
	TEST_ENGINES=sqlite $(UNIT) -parallel 12 $(PLAIN) | $(RAN) record bin/unit-sqlite.ran

unit-postgres:
	@mkdir -p bin
	TEST_ENGINES=postgres test/postgres.sh $(UNIT) -p 3 -parallel 9 -skip '$(subst $() ,,$(ON_SQLITE))' $(filter-out ./test/faults,$(LONGEST)) $(STORED) | $(RAN) record bin/unit-postgres.ran

journey: ## test the built binary with a real agent gateway (installs it once, about 860 MB)
	@mkdir -p bin
	test/postgres.sh $(GO) test -json -tags journey -count=1 -vet=off -ldflags=-w -parallel 3 -timeout 20m -v -skip '$(TRIALS)|$(REPEATS)' ./test/realgateway | $(RAN) record -v bin/journey.ran

trials: ## the long trials on a real gateway, with everything killed meanwhile, and all that `make journey` leaves out
	test/postgres.sh $(GO) test -tags journey -count=1 -timeout 60m -v -parallel 4 ./test/realgateway

claims: ## check that every test named in the specification and promises pages has passed (after unit and journey)
	$(RAN) check docs/specification.md docs/promises.md bin/unit-race.ran bin/unit-costly.ran bin/unit-sqlite.ran bin/unit-postgres.ran bin/journey.ran

# Two lanes: the tests wait a lot, and what has no time limits uses that time with a lower priority.
test: ## everything that must pass before a merge
	@rm -rf bin/stages
	$(STAGE) "what the tests need" $(MAKE) --no-print-directory needs web-needs
	@$(MAKE) --no-print-directory -j 2 timed untimed
	$(STAGE) "tests that the documents name" $(MAKE) --no-print-directory claims
	@test/stage.sh --times
	@printf '\n== everything passed\n'

timed:
	$(STAGE) "tests with the race detector" $(MAKE) --no-print-directory unit-race
	$(STAGE) "tests on SQLite" $(MAKE) --no-print-directory unit-sqlite
	$(STAGE) "tests on PostgreSQL" $(MAKE) --no-print-directory unit-postgres
	$(STAGE) "journey on a real gateway" $(MAKE) --no-print-directory journey
	$(STAGE) "the dashboard in a browser" $(MAKE) --no-print-directory e2e

untimed: STAGE := @nice -n 10 test/stage.sh
untimed:
	$(STAGE) "format" $(MAKE) --no-print-directory format-check
	$(STAGE) "lint" $(MAKE) --no-print-directory lint
	$(STAGE) "the dashboard" $(MAKE) --no-print-directory web-check

nightly: ## run what takes too long for each change: race detector on both databases, long tests, all browser layouts, trials
	@rm -rf bin/stages
	$(STAGE) "what the tests need" $(MAKE) --no-print-directory needs
	$(STAGE) "tests on both databases, race detector" env WARDROOM_NIGHTLY=1 GROWTH_ROWS=100000 ANSWER_ROUNDS=200 test/postgres.sh $(GO) test $(RACE) -count=1 -parallel 6 -timeout 90m $(LONGEST) ./...
	$(STAGE) "the dashboard in a browser, both themes in each size" env WARDROOM_NIGHTLY=1 $(MAKE) --no-print-directory e2e
	$(STAGE) "journey and trials on a real gateway" $(MAKE) --no-print-directory trials
	@test/stage.sh --times

measure: build web-needs ## measure the dashboard's speed in a browser without asserting limits (needs an idle machine)
	MEASURE=1 npm run --silent --prefix web e2e

bench: build ## benchmark Wardroom against a minimal HTTP server (BENCH=quick: SQLite only, 2 minutes)
	@if [ "$(BENCH)" = quick ]; then $(GO) run ./test/bench; else env -u TEST_POSTGRES_URL TMPDIR="$${TMPDIR:-/tmp}" test/postgres.sh $(GO) run ./test/bench; fi

clean: ## remove build output (keeps the gateway's cache and all data)
	rm -rf bin coverage.* *.test
