"""The job `report`: deliveries to tables of figures and a page."""
