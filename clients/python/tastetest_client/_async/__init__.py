"""The client with `async` and `await`; `_sync` is made from it."""
