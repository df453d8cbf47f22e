// Package store keeps orders and customers in memory.
package store

import (
	"errors"
	"sync"
)

// ErrNotFound is returned for unknown keys.
var ErrNotFound = errors.New("not found")

// Customer is a customer with a credit.
type Customer struct {
	ID     int
	Name   string
	Credit int
}

// Order is an order of a customer.
type Order struct {
	ID, Customer, Amount int
	Paid                 bool
}

// Customers is a table of customers.
type Customers struct {
	mu   sync.Mutex
	rows map[int]*Customer
}

// Orders is a table of orders.
type Orders struct {
	mu   sync.Mutex
	rows map[int]*Order
	next int
}

// DB has both tables.
type DB struct {
	Customers Customers
	Orders    Orders
}

// New makes an empty database.
func New() *DB {
	return &DB{
		Customers: Customers{rows: map[int]*Customer{}},
		Orders:    Orders{rows: map[int]*Order{}, next: 1},
	}
}

// AddCustomer adds a customer.
func (db *DB) AddCustomer(c Customer) {
	db.Customers.mu.Lock()
	defer db.Customers.mu.Unlock()
	db.Customers.rows[c.ID] = &c
}

// Place makes an order: customers, then orders.
func (db *DB) Place(customer, amount int) (int, error) {
	db.Customers.mu.Lock()
	defer db.Customers.mu.Unlock()
	c, ok := db.Customers.rows[customer]
	if !ok {
		return 0, ErrNotFound
	}
	if c.Credit < amount {
		return 0, errors.New("no credit")
	}
	c.Credit -= amount
	db.Orders.mu.Lock()
	defer db.Orders.mu.Unlock()
	id := db.Orders.next
	db.Orders.next++
	db.Orders.rows[id] = &Order{ID: id, Customer: customer, Amount: amount}
	return id, nil
}

// Cancel removes an order and gives the credit back.
func (db *DB) Cancel(id int) error {
	db.Orders.mu.Lock()
	defer db.Orders.mu.Unlock()
	o, ok := db.Orders.rows[id]
	if !ok {
		return ErrNotFound
	}
	delete(db.Orders.rows, id)
	db.Customers.mu.Lock()
	defer db.Customers.mu.Unlock()
	if c, ok := db.Customers.rows[o.Customer]; ok {
		c.Credit += o.Amount
	}
	return nil
}

// Credit is the credit of a customer.
func (db *DB) Credit(id int) (int, error) {
	db.Customers.mu.Lock()
	defer db.Customers.mu.Unlock()
	c, ok := db.Customers.rows[id]
	if !ok {
		return 0, ErrNotFound
	}
	return c.Credit, nil
}
