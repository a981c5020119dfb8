"""The audit over real logs: in Postgres, and in exports of them."""
