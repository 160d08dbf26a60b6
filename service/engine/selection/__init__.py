"""Selection methods: which examples make the micro-benchmark."""
