.PHONY: check vet lint test bench up down

COMPOSE ?= docker compose

check: vet lint test
vet:
	go vet ./...
lint:
	golangci-lint run ./...
test:
	go test -race ./...
bench:
	cd bench && go run .
up:
	$(COMPOSE) up -d
down:
	$(COMPOSE) down
