"""Requests to an object store, counted: what each verb costs where every file is a call away."""
