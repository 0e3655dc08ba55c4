"""What is known of tables when a page is made: values, whoever found them out."""
