.PHONY: check vet lint test bench chaos sim up down

COMPOSE ?= docker compose

check: vet lint test
vet:
	go vet ./...
lint:
	golangci-lint run ./...
test:
	go test -race -timeout 20m ./...
chaos: # DURATION=30m; SEED=… repeats a run; FENCES=10000 asks for so many acquisitions instead
	REDLOCK_CHAOS_DURATION=$(DURATION) REDLOCK_CHAOS_SEED=$(SEED) REDLOCK_CHAOS_FENCES=$(FENCES) \
	go test -race -count=1 -timeout 0 -v -run '^TestChaos$(if $(FENCES),_FencesOfForgetfulMasters)$$' ./failover_test
sim: # SEEDS=1000000
	go run ./internal/sim/cmd -seeds $(or $(SEEDS),100000)
bench:
	cd bench && go run .
up:
	$(COMPOSE) up -d
down:
	$(COMPOSE) down
