"""Azure AI Search: what its indexes look like, and the documents of a published dictionary in them."""
